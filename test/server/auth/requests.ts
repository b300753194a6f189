/** Requests of tests, with credentials. */

export function requestWith(token: string | undefined, headers: Readonly<Record<string, string>> = {}): Request {
  const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Request("http://localhost/v1/tools", { headers: { ...authorization, ...headers } });
}
