/** Given to node by `--import`: servers that would listen everywhere listen on 127.0.0.1, as tests must. */
import { Server } from "node:net";

// oxlint-disable no-underscore-dangle -- Node names it so
const listen = Server.prototype._listen2;
Server.prototype._listen2 = function (address, port, addressType, ...others) {
  const isEverywhere = address === null || address === undefined || address === "::" || address === "0.0.0.0";
  return isEverywhere ? listen.call(this, "127.0.0.1", port, 4, ...others) : listen.call(this, address, port, addressType, ...others);
};
