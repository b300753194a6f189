/** Encodes file names as URIs: MCP requires a URI for each file, and clients on the Python library 1.x reject the whole answer for an invalid one. */
const SCHEME = "attachment:";

/** Returns a URI for a file name; the name itself if it already is a URI. */
export function toAttachmentUri(name: string): string {
  if (URL.canParse(name)) return name;
  const path = encodeURI(name.toWellFormed());
  return SCHEME + path.replace(/^\/\//u, "%2F%2F"); // otherwise a host would have to follow, which not every name is
}

/** Returns the name that `toAttachmentUri` got; any other URI unchanged. */
export function fromAttachmentUri(uri: string): string {
  if (!uri.startsWith(SCHEME)) return uri;
  try {
    return decodeURIComponent(uri.slice(SCHEME.length));
  } catch {
    return uri;
  }
}
