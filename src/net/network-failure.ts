/** Describes failures of requests and responses; never includes an address's query or a header. */
import { ToolError } from "../core/error.ts";
import type { Outcome } from "../core/error-codes.ts";
import { BLOCKED_PORT, ACCESS_DENIED, errorCodeOf } from "./connect-failure.ts";

interface Reason {
  readonly text: string;
  readonly operatorHint?: string;
  /** @default true */
  readonly retryable?: boolean;
}

const REASONS: ReadonlyMap<string, Reason> = new Map<string, Reason>([
  ["ECONNREFUSED", { text: "nothing accepts connections there", operatorHint: "Check that the server runs and listens on this port." }],
  [
    BLOCKED_PORT,
    { text: "this port is reserved for another protocol, and fetch refuses to use it", operatorHint: "Check the port.", retryable: false },
  ],
  ["ENOTFOUND", { text: "the name has no address", operatorHint: "Check the spelling of the host." }],
  ["EAI_AGAIN", { text: "the name could not be resolved at the moment" }],
  ["EHOSTUNREACH", { text: "the host cannot be reached" }],
  ["ENETUNREACH", { text: "the network cannot be reached" }],
  ["ETIMEDOUT", { text: "the connection timed out" }],
  [
    ACCESS_DENIED,
    { text: "this process may not use the network", operatorHint: "Start it with --allow-net too (node --permission).", retryable: false },
  ],
  ["ECONNRESET", { text: "the server closed the connection" }],
  ["EPIPE", { text: "the server closed the connection" }],
  ["HPE_HEADER_OVERFLOW", { text: "the headers of its answer are larger than 64 KiB", retryable: false }],
  ["EPROTO", notTls()],
  ["ERR_SSL_WRONG_VERSION_NUMBER", notTls()],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", notTls()],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", untrusted("its certificate is self-signed")],
  ["SELF_SIGNED_CERT_IN_CHAIN", untrusted("its certificate comes from an authority that is not trusted")],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", untrusted("its certificate comes from an authority that is not trusted")],
  ["UNABLE_TO_GET_ISSUER_CERT", untrusted("its certificate comes from an authority that is not trusted")],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", untrusted("its certificate comes from an authority that is not trusted")],
  ["CERT_HAS_EXPIRED", { text: "its certificate has expired", operatorHint: "The server needs a new certificate.", retryable: false }],
  [
    "CERT_NOT_YET_VALID",
    { text: "its certificate is not valid yet", operatorHint: "Check the clocks of both machines.", retryable: false },
  ],
  [
    "ERR_TLS_CERT_ALTNAME_INVALID",
    {
      text: "its certificate is for another host",
      operatorHint: "Use a host name that its certificate covers.",
      retryable: false,
    },
  ],
]);

/** The alert of a server that speaks only other protocols over TLS. @see https://www.rfc-editor.org/rfc/rfc7301#section-3.2 */
const NO_APPLICATION_PROTOCOL = /\bSSL alert number 120\b/u;
const HTTP2_ONLY: Reason = {
  text: "it does not speak HTTP/1.1",
  operatorHint: "Let the server speak HTTP/1.1 besides HTTP/2.",
  retryable: false,
};

function notTls(): Reason {
  return {
    text: "the TLS handshake failed",
    operatorHint: "Check that the server speaks TLS on this port, or use http: if it does not.",
    retryable: false,
  };
}

function untrusted(text: string): Reason {
  return {
    text,
    operatorHint: "Pass the certificate of its authority as `ca`, in PEM, or start the process with NODE_EXTRA_CA_CERTS.",
    retryable: false,
  };
}

/** Makes a ToolError of the error of a socket, the HTTP parser or a decoder. A ToolError is returned unchanged. */
export function networkFailure(server: string, thrown: unknown, outcome: Outcome): ToolError {
  if (thrown instanceof ToolError) return thrown;
  const code = errorCodeOf(thrown);
  const { text, operatorHint, retryable }: Reason = reasonOf(thrown, code);
  const start = outcome === "not_started" ? `No connection to ${server}` : `The request to ${server} failed`;
  return new ToolError("network_error", `${start}: ${text} (${code}).`, {
    outcome,
    cause: thrown,
    ...(operatorHint === undefined ? {} : { operatorHint }),
    ...(retryable === undefined ? {} : { retryable }),
  });
}

function reasonOf(thrown: unknown, code: string): Reason {
  if (thrown instanceof Error && NO_APPLICATION_PROTOCOL.test(thrown.message)) return HTTP2_ONLY;
  const known = REASONS.get(code);
  if (known !== undefined) return known;
  if (code.startsWith("HPE_")) return { text: "its answer is not HTTP", retryable: false };
  // error codes of zlib, Brotli and zstd
  if (/^(?:Z_|ERR__ERROR_|ZSTD_error_)/u.test(code)) return { text: "its answer cannot be decompressed", retryable: false };
  return { text: "the connection broke" };
}
