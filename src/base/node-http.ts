/**
 * `node:http` without `import`, which reads all that a built-in module exports. Of this one, that loads Node's fetch and
 * WebSocket: 20 ms and 3 MB of every start.
 */
export const http = process.getBuiltinModule('node:http');
