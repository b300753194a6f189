/** Node's HTTP modules. A static `import` would also load WebSocket and all of `fetch`, which takes ten times as long. */
export const http = process.getBuiltinModule("node:http");
export const https = process.getBuiltinModule("node:https");
