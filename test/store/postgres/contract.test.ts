import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessStoreContract } from "../../../src/testing/access-store-contract.ts";
import { approvalStoreContract } from "../../../src/testing/approval-store-contract.ts";
import { jobStoreContract } from "../../../src/testing/job-store-contract.ts";
import { storeContract } from "../../../src/testing/store-contract.ts";
import { inCI } from "../../ci.ts";
import { postgresPrograms } from "./server.ts";
import { onPglite, onServer, type StoreMaker } from "./stores.ts";

const START = 120_000;

/** CI runs both; elsewhere a server that is installed goes before PGlite. */
const subjects = [
  { name: "a PostgreSQL server", start: onServer, isRun: postgresPrograms !== undefined },
  { name: "PGlite", start: onPglite, isRun: postgresPrograms === undefined || inCI },
];

for (const { name, start, isRun } of subjects)
  describe.skipIf(!isRun)(`issue 21.1 the store in PostgreSQL keeps the contract, on ${name}:`, () => {
    let maker: StoreMaker | undefined;
    beforeAll(async () => {
      maker = await start();
    }, START);
    afterAll(() => maker?.close());

    test.each([...storeContract, ...jobStoreContract, ...accessStoreContract, ...approvalStoreContract])(
      "$title",
      { timeout: START },
      async ({ run }) => {
        const { store, empty } = maker ?? expect.fail("the database did not start");
        await empty("contract");
        await run({ store: store("contract"), another: () => store("contract") });
      },
    );
  });
