/** Names and passwords as the scheme `Basic` writes them. @see https://www.rfc-editor.org/rfc/rfc7617 */

/** The text behind `Basic ` in the header. */
export function basicCredentials({ username, password }: { readonly username: string; readonly password: string }): string {
  return Buffer.from(`${username}:${password}`).toString("base64");
}

/** The same of an OAuth client, whose parts are encoded first. @see https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1 */
export function clientCredentials(clientId: string, clientSecret: string): string {
  return basicCredentials({ username: encodeURIComponent(clientId), password: encodeURIComponent(clientSecret) });
}
