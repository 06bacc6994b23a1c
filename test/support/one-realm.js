/**
 * Jest runs each suite in a context of node:vm, with an `Error` of its own; errors of Node itself are of another one. With this they are
 * instances of `Error` all the same, as they are for users.
 */
const inherited = Function.prototype[Symbol.hasInstance];
Object.defineProperty(Error, Symbol.hasInstance, {
  value(thrown) {
    return this === Error ? Error.isError(thrown) : inherited.call(this, thrown);
  },
});
