import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessStoreContract } from "../../../src/testing/access-store-contract.ts";
import { approvalStoreContract } from "../../../src/testing/approval-store-contract.ts";
import { jobStoreContract } from "../../../src/testing/job-store-contract.ts";
import { storeContract } from "../../../src/testing/store-contract.ts";
import { postgresPrograms } from "./server.ts";
import { onPglite, onServer, type StoreMaker } from "./stores.ts";
import { inCI } from "../../ci.ts";

const START = 120_000;

/** A server that is installed goes before PGlite. */
const { name, start } =
  postgresPrograms === undefined ? { name: "PGlite", start: onPglite } : { name: "a PostgreSQL server", start: onServer };

/** All in CI, elsewhere some of them. */
const CASES = [...storeContract, ...jobStoreContract, ...accessStoreContract, ...approvalStoreContract];

describe(`issue 21.1 the PostgreSQL store fulfils the contract, on ${name}:`, () => {
  let maker: StoreMaker | undefined;
  beforeAll(async () => {
    maker = await start();
  }, START);
  afterAll(() => maker?.close());

  test.each(CASES.filter((_, index) => inCI || index % 4 === 0))("$title", { timeout: START }, async ({ run }) => {
    const { store, empty } = maker ?? expect.fail("the database did not start");
    await empty("contract");
    await run({ store: store("contract"), createSecond: () => store("contract") });
  });
});
