/** Issue 19.5: `[serve]` says who may send requests, and is refused with its place where it cannot mean what it says. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { ToolError } from "../../src/core/error.ts";
import { configFolder } from "./config-folder.ts";

async function problemsOf(toml: string): Promise<readonly string[]> {
  const folder = configFolder({ "haft.toml": toml });
  try {
    await loadConfig(join(folder, "haft.toml"), { environment: {} });
    return [];
  } catch (thrown: unknown) {
    const { message, details } = ToolError.fromUnknown(thrown);
    return [message, ...details].map((line) => line.replaceAll(folder, "."));
  }
}

test("issue 19.5 issuers, rules and origins are read unchanged", async () => {
  const folder = configFolder({
    "haft.toml": `[serve]
basePath = "/haft"
allowedOrigins = ["https://app.example:8443", "app.example", "[::1]", "app://notes"]
corsOrigins = ["https://app.example"]
[serve.limits]
maxBytesPerMinute = 1_000_000
graceMs = 0
[serve.auth]
resource = "https://tools.example"
[[serve.auth.issuers]]
issuer = "https://login.example"
scopes = { "tools.use" = ["read", "execute"] }
[[serve.rules]]
principals = ["key:*"]
claims = { groups = "ops", "/a/b" = 7 }
allow = ["files::*"]
`,
  });
  const { config } = await loadConfig(join(folder, "haft.toml"), { environment: {} });
  expect(config.serve).toEqual({
    basePath: "/haft",
    allowedOrigins: ["https://app.example:8443", "app.example", "[::1]", "app://notes"],
    corsOrigins: ["https://app.example"],
    limits: { maxBytesPerMinute: 1_000_000, graceMs: 0 },
    auth: {
      resource: "https://tools.example",
      issuers: [{ issuer: "https://login.example", scopes: { "tools.use": ["read", "execute"] } }],
    },
    rules: [{ principals: ["key:*"], claims: { groups: "ops", "/a/b": 7 }, allow: ["files::*"] }],
  });
});

test("issue 19.4 webhooks are read unchanged, without their variables being set", async () => {
  const folder = configFolder({ "haft.toml": `${WEBHOOK}events = ["job.ended"]\nallowPrivate = ["10.0.0.7"]\n` });
  const { config } = await loadConfig(join(folder, "haft.toml"), { environment: {} });
  expect(config.webhooks).toEqual([{ url: "https://a", secret: "env:S", events: ["job.ended"], allowPrivate: ["10.0.0.7"] }]);
});

const WEBHOOK = '[[webhooks]]\nurl = "https://a"\nsecret = "env:S"\n';
const ISSUER = '[serve.auth]\nresource = "https://a"\n[[serve.auth.issuers]]\nissuer = "https://b"\n';

test.each([
  ['[serve]\ncorsOrigins = ["*"]', "serve.corsOrigins[0] is not an origin such as https://app.example."],
  ['[serve]\nbasePath = "haft/"', 'serve.basePath must be a path such as "/haft"'],
  ['[serve]\nbasePath = "/v1/haft"', "serve.basePath must not begin like a path of the server"],
  ['[serve]\nallowedOrigins = ["app.example", "https://app.example/"]', "serve.allowedOrigins[1] is neither an origin such as"],
  ['[serve]\nallowedOrigins = ["https://app.example:443"]', "serve.allowedOrigins[0] is neither an origin such as"],
  ['[serve]\nallowedOrigins = ["null"]', "serve.allowedOrigins[0] is neither an origin such as"],
  ['[serve]\nallowedOrigins = ["*"]', "serve.allowedOrigins[0] is neither an origin such as"],
  ["[serve]\nauht = 1", "unknown key"],
  ["[serve.limits]\nmaxBytesPerMinute = 0", "serve.limits.maxBytesPerMinute must be an integer"],
  ["[serve.limits]\nmaxBytesPerMinuet = 1", 'unknown key. Did you mean "maxBytesPerMinute"?'],
  ['[serve.logins]\norigin = "https://tools.example/login"', "serve.logins.origin must be an https origin"],
  ['[serve.logins]\norigin = "http://tools.example"', "serve.logins.origin must be an https origin"],
  ["[serve.logins]\nfolder = 7", "serve.logins.folder must be a string"],
  ['[serve.logins]\nfolder = ""', "serve.logins.folder must not be empty"],
  ["[serve.logins]\nloginMs = 0", "serve.logins.loginMs must be"],
  ["[serve.logins]\nport = 1", "serve.logins.port: unknown key. Known keys: origin, folder, loginMs."],
  ['[serve.auth]\nresource = "http://tools.example"', "serve.auth.resource must be an https address, or one of this machine."],
  ['[[serve.auth.issuers]]\nissuer = "https://b"', "serve.auth.resource is missing"],
  ['[serve.auth]\nresource = "https://a"\n[[serve.auth.issuers]]\nissuer = "ftp://b"', "issuer must be an https address"],
  [`${ISSUER}algorithms = ["HS256"]`, "is not an asymmetric algorithm such as ES256."],
  [`${ISSUER}algorithms = ["none"]`, "is not an asymmetric algorithm such as ES256."],
  [`${ISSUER}algorithms = []`, "serve.auth.issuers[0].algorithms must not be empty: no token would be accepted"],
  [`${ISSUER}audience = ""`, "serve.auth.issuers[0].audience must not be empty"],
  [`${ISSUER}tokenType = ""`, "serve.auth.issuers[0].tokenType must not be empty"],
  [`${ISSUER}scopeClaim = ""`, "serve.auth.issuers[0].scopeClaim must not be empty"],
  [`${ISSUER}allowPrivate = ["10.0.0.7", "10.0.0.0/33"]`, "serve.auth.issuers[0].allowPrivate[1] is neither a host"],
  [`${ISSUER}scopes = { a = ["root"] }`, "is not a known scope. Expected one of: read, execute, simulate, approve, admin."],
  [`${ISSUER}clockToleranceSeconds = 601`, "clockToleranceSeconds must be"],
  [`${ISSUER}jwksUrl = "file:///etc/passwd"`, "jwksUrl must be an https address"],
  ['[[serve.rules]]\nprincipals = ["key:*"]', "has neither allow nor deny"],
  ['[[serve.rules]]\nallow = ["delete"]', 'has the pattern "delete", which matches no tool'],
  ['[[serve.rules]]\nallow = ["*"]\nclaims = 1', "claims must be an object"],
  ['[[serve.rules]]\nallow = ["*"]\nclaims = { a = ["x"] }', 'claim "a"'],
  ['[[serve.rules]]\nallow = ["*"]\nprincipals = []', "principals"],
  ['[[webhooks]]\nsecret = "env:S"', '"url" is missing'],
  ['[[webhooks]]\nurl = "https://a"', '"secret" is missing'],
  ['[[webhooks]]\nurl = "http://a.example"\nsecret = "env:S"', "url must be an https address, or one of this machine."],
  ['[[webhooks]]\nurl = "https://a"\nsecret = "whsec_abc"', "secret must name an environment variable"],
  [`${WEBHOOK}events = ["call.ended"]`, "is not a known event of webhooks. Expected one of: approval.asked, job.ended."],
  [`${WEBHOOK}allowPrivate = ["*.corp.example"]`, "webhooks[0].allowPrivate[0] is neither a host"],
  [`${WEBHOOK}evnets = []`, "unknown key"],
  [`${WEBHOOK}${WEBHOOK}`, "is the address of another webhook already."],
])("issue 19.5 %j is refused with its place", async (toml, message) => {
  const problems = await problemsOf(toml);
  const said = problems.join("\n").replaceAll(/: (?=must|is)/gu, " ");
  expect(said).toContain(message);
  expect(said).toContain("haft.toml:");
});
