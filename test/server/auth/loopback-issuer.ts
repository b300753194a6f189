/** An issuer of tokens on a port of this machine, with keys of its own that can be replaced. */
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { SignJWT, exportJWK, exportSPKI, generateKeyPair, type CryptoKey, type JWK, type JWTHeaderParameters } from "jose";
import { onTestFinished } from "vitest";

interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

export interface TokenParts {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Partial<JWTHeaderParameters>;
  /** @default the current key */
  readonly key?: CryptoKey | Uint8Array;
}

export class LoopbackIssuer {
  readonly url: string;
  readonly host: string;
  /** The paths that were asked for. */
  readonly asked: string[] = [];
  /** Set to answer everything with this status. */
  failure: number | undefined;
  /** What its metadata say that it is. */
  named: string | undefined;
  /** Where its metadata say that its keys are. @default here */
  keysAt: string | undefined;
  readonly #now: () => number;
  #server: Server | undefined;
  #published: readonly JWK[] = [];
  #current: SigningKey | undefined;
  #kids = 0;

  private constructor(port: number, now: () => number) {
    this.host = `127.0.0.1:${port}`;
    this.url = `http://${this.host}`;
    this.#now = now;
  }

  /** @param now seconds since the epoch */
  static async start(now: () => number): Promise<LoopbackIssuer> {
    let issuer: LoopbackIssuer | undefined;
    const server = createServer((request, response) => {
      const { status, body } = issuer?.answer(request.url ?? "") ?? { status: 503, body: {} };
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const address = server.address();
    issuer = new LoopbackIssuer(typeof address === "object" && address !== null ? address.port : 0, now);
    issuer.#server = server;
    await issuer.rotate();
    return issuer;
  }

  /** Accepts no more connections. */
  async stop(): Promise<void> {
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  private answer(path: string): { readonly status: number; readonly body: unknown } {
    this.asked.push(path);
    if (this.failure !== undefined) return { status: this.failure, body: {} };
    if (path === "/keys") return { status: 200, body: { keys: this.#published } };
    if (path === "/.well-known/openid-configuration")
      return { status: 200, body: { issuer: this.named ?? this.url, jwks_uri: this.keysAt ?? `${this.url}/keys` } };
    return { status: 404, body: {} };
  }

  /** A new key replaces all that were published. @param kid its name, by default a new one */
  async rotate(kid = `k${++this.#kids}`): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    this.#current = { kid, privateKey, publicKey };
    this.#published = [{ ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" }];
  }

  /** Publishes two keys without a kid. Returns what signs for them. */
  async publishUnnamed(): Promise<readonly CryptoKey[]> {
    const pairs = [await generateKeyPair("ES256"), await generateKeyPair("ES256")];
    this.#published = await Promise.all(pairs.map(async ({ publicKey }) => ({ ...(await exportJWK(publicKey)), alg: "ES256" })));
    return pairs.map(({ privateKey }) => privateKey);
  }

  /** Publishes a new key with its private part, by mistake. */
  async publishPrivate(): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    this.#current = { kid: "private", privateKey, publicKey };
    this.#published = [{ ...(await exportJWK(privateKey)), kid: "private", alg: "ES256", use: "sig" }];
  }

  /** The key that is published, as text that anybody can have. */
  async publicPem(): Promise<string> {
    return this.#current === undefined ? "" : exportSPKI(this.#current.publicKey);
  }

  /** A token that is right but for what is given. */
  async token({ claims = {}, header = {}, key }: TokenParts = {}): Promise<string> {
    const { kid = "", privateKey } = this.#current ?? {};
    const now = Math.floor(this.#now());
    const all = { iss: this.url, aud: "https://tools.example", sub: "ada", iat: now, exp: now + 60, scope: "read execute", ...claims };
    const signer = new SignJWT(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
    const signing = key ?? privateKey;
    if (signing === undefined) throw new Error("the issuer has no key");
    return signer.setProtectedHeader({ alg: "ES256", kid, typ: "at+jwt", ...header }).sign(signing);
  }
}
