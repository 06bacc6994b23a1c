/**
 * `node:http` without `import`, which reads all that a built-in module exports: of this one, that loads Node's fetch and
 * WebSocket, for 30 ms of every start.
 */
export const http = process.getBuiltinModule('node:http');
