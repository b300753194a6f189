/** Names of files as URIs: MCP wants one for each file, and clients on the Python library 1.x refuse the whole answer for a URI that is none. */
const SCHEME = "attachment:";

/** The name itself where it is a URI. */
export function toAttachmentUri(name: string): string {
  if (URL.canParse(name)) return name;
  const path = encodeURI(name.toWellFormed());
  return SCHEME + path.replace(/^\/\//u, "%2F%2F"); // else a host would follow, which not every name is
}

/** The name that `toAttachmentUri` was given; every other URI as it is. */
export function fromAttachmentUri(uri: string): string {
  if (!uri.startsWith(SCHEME)) return uri;
  try {
    return decodeURIComponent(uri.slice(SCHEME.length));
  } catch {
    return uri;
  }
}
