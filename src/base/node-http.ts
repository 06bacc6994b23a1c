/**
 * `node:http` without `import`, because an import reads all exports of a built-in module. For this module, that loads
 * Node's fetch and WebSocket: 20 ms and 3 MB of every start.
 */
export const http = process.getBuiltinModule('node:http');
