/** Encodes credentials for the scheme `Basic`. @see https://www.rfc-editor.org/rfc/rfc7617 */

/** Returns the text after `Basic ` in the header. */
export function encodeBasicCredentials({ username, password }: { readonly username: string; readonly password: string }): string {
  return Buffer.from(`${username}:${password}`).toString("base64");
}

/** Returns the same for an OAuth client, whose id and secret are URL-encoded first. @see https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1 */
export function encodeClientCredentials(clientId: string, clientSecret: string): string {
  return encodeBasicCredentials({ username: encodeURIComponent(clientId), password: encodeURIComponent(clientSecret) });
}
