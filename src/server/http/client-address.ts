/** The addresses of clients, as a port has seen them: the platform's `Request` has no field for one. */
import type { RequestHead } from "./request-head.ts";

const clientAddresses = new WeakMap<RequestHead, string>();

export function storeAddress(request: Request, address: string | undefined): Request {
  if (address !== undefined) clientAddresses.set(request, address);
  return request;
}

/** The client's address; undefined for a request that did not arrive on a port of this server. */
export function addressOf(request: RequestHead): string | undefined {
  return request.from ?? clientAddresses.get(request);
}
