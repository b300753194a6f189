/** The addresses of clients, as a port has seen them: a `Request` of the platform has no place for one. */
import type { RequestHead } from "./request-head.ts";

const ADDRESSES = new WeakMap<RequestHead, string>();

export function keepAddress(request: Request, address: string | undefined): Request {
  if (address !== undefined) ADDRESSES.set(request, address);
  return request;
}

/** Undefined for a request that came to no port of this server. */
export function addressOf(request: RequestHead): string | undefined {
  return request.from ?? ADDRESSES.get(request);
}
