/** Names of files as URIs: MCP wants one for each file, and clients on the Python library 1.x refuse the whole answer for a URI that is none. */
const SCHEME = "attachment:";

/** The name itself where it is a URI. */
export function toAttachmentUri(name: string): string {
  return URL.canParse(name) ? name : `${SCHEME}${encodeURI(name.toWellFormed())}`;
}

/** The name that `toAttachmentUri` was given; every other URI as it is. */
export function fromAttachmentUri(uri: string): string {
  if (!uri.startsWith(SCHEME)) return uri;
  try {
    return decodeURI(uri.slice(SCHEME.length));
  } catch {
    return uri;
  }
}
