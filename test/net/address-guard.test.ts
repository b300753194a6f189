import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { AddressGuard, findAllowPrivateFault } from "../../src/net/address-guard.ts";
import { isPublicAddress } from "../../src/net/public-address.ts";

const PUBLIC = "93.184.215.14";

/** What public resolvers answer to the names in these tests. */
function resolve(name: string): Promise<readonly string[]> {
  const embedded = /^(\d+\.\d+\.\d+\.\d+)\.nip\.io$/u.exec(name)?.[1];
  return Promise.resolve([embedded ?? PUBLIC]);
}

/** `allowed`, or why not. */
async function verdict(address: string, allowPrivate: readonly string[] = [], names = resolve): Promise<string> {
  if (!URL.canParse(address)) return "no address";
  const url = new URL(address);
  url.username = "";
  url.password = "";
  try {
    await new AddressGuard(allowPrivate, names).resolve(url);
    return "allowed";
  } catch (error: unknown) {
    return error instanceof ToolError ? error.code : "thrown";
  }
}

const file = join(process.env["HAFT_CASES"] ?? "../shared/cases", "security", "ssrf_urls.json");
const present = existsSync(file);
if (!present) console.log(`skipped: no ${file}`);

describe.runIf(present)("F02 published SSRF attacks", () => {
  const cases: Readonly<Record<"mustBlock" | "mustAllowHost", readonly string[]>> = present
    ? JSON.parse(readFileSync(file, "utf8"))
    : { mustBlock: [], mustAllowHost: [] };

  test.each(cases.mustBlock)("F02 %s is refused", async (address) => {
    expect(await verdict(address)).toBe("permission_denied");
  });

  test.each(cases.mustAllowHost)("F02 the host of %s is public", async (address) => {
    expect(await verdict(address)).toBe("allowed");
  });
});

describe("public addresses", () => {
  test.each([
    "0.0.0.0",
    "0.255.255.255",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::8.8.8.8",
    "::ffff:10.0.0.1",
    "::ffff:0:8.8.8.8",
    "64:ff9b::127.0.0.1",
    "64:ff9b:1::8.8.8.8",
    "64::8.8.8.8",
    "1:ff9b::8.8.8.8",
    "2001::ffff:8.8.8.8",
    "100::1",
    "2001::1",
    "2001:0:808:808::1",
    "2001:db8::1",
    "2002:a00:1::1",
    "2002:a9fe:a9fe::",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "",
    "localhost",
    "0177.0.0.1",
    "1.2.3",
    "1.2.3.4.5",
    "::ffff",
    "[::1]",
    "169.254.0.0",
    "169.254.255.255",
    "192.0.0.0",
    "192.0.0.255",
    "192.0.2.0",
    "192.0.2.255",
    "192.88.99.0",
    "192.88.99.255",
    "192.168.255.255",
    "198.51.100.0",
    "198.51.100.255",
    "203.0.113.0",
    "203.0.113.255",
    "2001:1ff:ffff::1",
    "2001:db8:ffff::1",
    "3fff:fff:ffff::1",
    "::ffff:168.63.129.16",
    "64:ff9b::168.63.129.16",
    "2002:a83f:8110::1",
  ])("F02 %s is not public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each([
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2001:4860:4860::8888",
    "2002:808:808::1",
    "2606:4700:4700::1111",
    "2A00:1450:4001:0:0:0:0:200E",
    "168.63.129.15",
    "168.63.129.17",
    "169.253.255.255",
    "169.255.0.0",
    "192.0.1.255",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "2001:200::1",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "3ffe:ffff::1",
    "3fff:1000::1",
  ])("%s is public", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test("F02 an IPv4 address gets the same verdict in every notation", async () => {
    const byte = fc.integer({ min: 0, max: 255 });
    // the borders of the special ranges come up often enough only when they are asked for
    const first = fc.oneof(byte, fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 203, 224));
    const address = fc.tuple(first, fc.oneof(byte, fc.constantFrom(0, 16, 64, 168, 254)), byte, byte);
    const radixes = fc.array(fc.constantFrom<Radix>("decimal", "octal", "hex"), { minLength: 4, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(address, fc.integer({ min: 1, max: 4 }), radixes, fc.constantFrom("", "."), async (bytes, parts, radixes, dot) => {
        const dotted = bytes.join(".");
        const spelled = `http://${spell(bytes, parts, radixes)}${dot}/`;
        expect([spelled, new URL(spelled).hostname]).toEqual([spelled, dotted]);
        expect([spelled, await verdict(spelled)]).toEqual([spelled, isPublicAddress(dotted) ? "allowed" : "permission_denied"]);
      }),
      { numRuns: 500 },
    );
  });

  test("F02 an IPv4 address gets the same verdict inside every IPv6 address that embeds it", () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(group, group, (high, low) => {
        const dotted = [high >> 8, high & 255, low >> 8, low & 255].join(".");
        const [h, l] = [high.toString(16), low.toString(16)];
        const forms = [`::ffff:${dotted}`, `::ffff:${h}:${l}`, `0:0:0:0:0:FFFF:${h}:${l}`, `64:ff9b::${h}:${l}`, `2002:${h}:${l}::1`];
        expect(forms.map(isPublicAddress)).toEqual(forms.map(() => isPublicAddress(dotted)));
      }),
    );
  });
});

type Radix = "decimal" | "octal" | "hex";

/** The address in so many parts, the last of which holds the bytes that are left. */
function spell(bytes: readonly number[], parts: number, radixes: readonly Radix[]): string {
  const rest = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0);
  return [...bytes.slice(0, parts - 1), rest].map((value, index) => inRadix(value, radixes[index] ?? "decimal")).join(".");
}

function inRadix(value: number, radix: Radix): string {
  if (radix === "hex") return `0x${value.toString(16)}`;
  return radix === "octal" ? `0${value.toString(8)}` : String(value);
}

describe("host names", () => {
  test("F05 every address of a name must be public, not only one", async () => {
    const names = (): Promise<readonly string[]> => Promise.resolve([PUBLIC, "127.0.0.1"]);
    expect(await verdict("http://both.example/", [], names)).toBe("permission_denied");
  });

  test("F02 no connection is opened if a resolver returns something that is not an address", async () => {
    const names = (): Promise<readonly string[]> => Promise.resolve(["0177.0.0.1"]);
    expect(await verdict("http://odd.example/", [], names)).toBe("permission_denied");
  });

  test("F02 names of the local machine are refused even if a resolver maps them to public addresses", async () => {
    const addresses = ["http://localhost/", "http://api.localhost/", "http://LocalHost../", "http://metadata.google.internal./"];
    expect(await Promise.all(addresses.map((address) => verdict(address)))).toEqual(addresses.map(() => "permission_denied"));
    // a network lets in what resolves into it, and these do not
    expect(await Promise.all(addresses.map((address) => verdict(address, ["10.0.0.0/8"])))).toEqual(
      addresses.map(() => "permission_denied"),
    );
  });
});

describe("URLs", () => {
  test.each(["http://user@example.com/", "http://:hunter2@example.com/"])(
    "F02 %s is refused: credentials belong in a header",
    (address) => {
      expect(() => {
        new AddressGuard([], resolve).checkUrl(new URL(address));
      }).toThrow(
        expect.objectContaining({ code: "permission_denied", message: "The URL of example.com contains a user name or password." }),
      );
    },
  );

  test("F02 a name of the local machine is refused before it is resolved, unless a network might contain it", () => {
    const check = (allowPrivate: readonly string[]) => (): void => {
      new AddressGuard(allowPrivate, resolve).checkUrl(new URL("http://localhost:8080/"));
    };
    expect(check([])).toThrow("Calls to localhost:8080 are not allowed: localhost is not a public name.");
    expect(check(["localhost:8081"])).toThrow("localhost is not a public name");
    expect(check(["127.0.0.0/8"])).not.toThrow();
  });

  test("a name without an address fails as a network error before anything is sent", async () => {
    const guard = new AddressGuard([], () => Promise.resolve([]));
    const error = await new Promise((done) => {
      guard.lookup(new URL("http://empty.example/"))("empty.example", {}, done);
    });
    expect(error).toMatchObject({ code: "network_error", message: "The name empty.example has no address.", outcome: "not_started" });
  });

  test("the socket gets all addresses of a name, each with its family", async () => {
    const guard = new AddressGuard([], () => Promise.resolve([PUBLIC, "2606:4700:4700::1111"]));
    const found = await new Promise((done) => {
      guard.lookup(new URL("http://both.example/"))("both.example", {}, (...answer) => {
        done(answer);
      });
    });
    expect(found).toEqual([
      null,
      [
        { address: PUBLIC, family: 4 },
        { address: "2606:4700:4700::1111", family: 6 },
      ],
    ]);
  });

  test.each([
    ["http://[::1]:3000/", "[::1]:3000"],
    ["https://[::1]/", "[::1]:443"],
    ["http://127.0.0.1/", "127.0.0.1:80"],
  ])("F02 the hint for %s names an entry that allows it", async (address, entry) => {
    const refusal = expect.objectContaining({ operatorHint: `To allow this server, list "${entry}" in allowPrivate.` });
    expect(() => {
      new AddressGuard([], resolve).checkUrl(new URL(address));
    }).toThrow(refusal);
    expect(await verdict(address, [entry])).toBe("allowed");
  });
});

describe("allowPrivate", () => {
  const local = (): Promise<readonly string[]> => Promise.resolve(["::1", "127.0.0.1"]);

  test.each([
    ["http://localhost:8080/", "localhost:8080", "allowed"],
    ["http://LOCALHOST.:8080/", "LocalHost.:8080", "allowed"],
    ["http://localhost:8081/", "localhost:8080", "permission_denied"],
    ["http://localhost/", "localhost:80", "allowed"],
    ["http://localhost:1/", "localhost:1", "allowed"],
    ["http://localhost:65535/", "localhost:65535", "allowed"],
    ["https://localhost/", "localhost:80", "permission_denied"],
    ["https://localhost/", "localhost:443", "allowed"],
    ["http://localhost:9/", "localhost", "allowed"],
    ["http://sub.localhost:9/", "localhost", "permission_denied"],
    ["http://billing.corp.example/", "billing.corp.example", "allowed"],
    ["http://bücher.example/", "BÜCHER.example", "allowed"],
    ["http://other.corp.example/", "billing.corp.example", "permission_denied"],
    ["http://127.0.0.1:3000/", "127.0.0.1:3000", "allowed"],
    ["http://2130706433:3000/", "127.0.0.1:3000", "allowed"],
    ["http://[::ffff:127.0.0.1]:3000/", "127.0.0.1:3000", "allowed"],
    ["http://127.0.0.2:3000/", "127.0.0.1", "permission_denied"],
    ["http://[::1]:3000/", "[::1]:3000", "allowed"],
    ["http://[::1]:3001/", "[::1]:3000", "permission_denied"],
    ["http://[::1]:3000/", "::1", "allowed"],
    ["http://[0:0::1]:3000/", "[::1]", "allowed"],
    ["http://[fd12::1]/", "fd00::/8", "allowed"],
    ["http://[fe80::1]/", "fd00::/8", "permission_denied"],
    ["http://10.1.2.3/", "10.0.0.0/8", "allowed"],
    ["http://[::ffff:10.1.2.3]/", "10.0.0.0/8", "allowed"],
    ["http://11.1.2.3/", "12.0.0.0/8", "allowed"],
    ["http://10.1.2.3/", "10.1.2.4/31", "permission_denied"],
    ["http://localhost/", "127.0.0.0/8", "permission_denied"],
    ["file:///etc/passwd", "0.0.0.0/0", "permission_denied"],
  ])("%s with %s: %s", async (address, entry, expected) => {
    expect(await verdict(address, [entry], local)).toBe(expected);
  });

  test("a network in allowPrivate admits only names whose addresses are all inside it", async () => {
    expect(await verdict("http://localhost/", ["127.0.0.0/8", "::1/128"], local)).toBe("allowed");
  });

  test.each([
    "",
    "http://localhost:8080",
    "*.corp.example",
    "a b",
    "localhost:",
    "localhost:0",
    "localhost:65536",
    "10.0.0.0/33",
    "10.0.0/8",
    "::/129",
    "10.0.0.0/8/8",
    "[::1",
    "a:b:c",
  ])("the invalid entry %j is rejected at once", (entry) => {
    expect(() => new AddressGuard([entry], resolve)).toThrow(
      expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining(JSON.stringify(entry)) }),
    );
    expect(findAllowPrivateFault(entry)).toMatch(/^is neither a host .* nor a network .*\.$/u);
  });
});
