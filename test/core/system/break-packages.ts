/** Makes each optional package one that is there and fails while it is loaded, also in threads: for `node --import`. */
import { registerHooks } from "node:module";

const BROKEN = [
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/server",
  "@opentelemetry/sdk-node",
  "defuddle",
  "hono",
  "jose",
  "pg",
  "unpdf",
];
const url = `data:text/javascript,${encodeURIComponent('throw new Error("it is broken.")')}`;

registerHooks({
  resolve: (specifier, context, next) =>
    BROKEN.some((name) => specifier === name || specifier.startsWith(`${name}/`)) ? { url, shortCircuit: true } : next(specifier, context),
});
