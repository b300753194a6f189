/** Artifacts in a SQL table, one row for each distinct content. */
import type { Artifact, ArtifactStore } from "../../core/artifact.ts";
import { checkArtifact } from "../records/check-artifact.ts";
import { requirePart } from "./migrate.ts";
import type { SqlConnection } from "./sql-connection.ts";

export class SqlArtifacts implements ArtifactStore {
  readonly #connection: SqlConnection;

  constructor(connection: SqlConnection) {
    this.#connection = connection;
  }

  async put({ artifact: { id, mediaType, data }, at }: { readonly artifact: Artifact; readonly at: number }): Promise<void> {
    await this.#connection.tables
      .insertInto("haft_artifact")
      .values({ id, media_type: mediaType, stored_at: at, data })
      .onConflict((conflict) => conflict.column("id").doUpdateSet({ stored_at: at }))
      .execute();
  }

  async get(id: string): Promise<Artifact | undefined> {
    await requirePart(this.#connection, "artifacts");
    const row = await this.#connection.tables
      .selectFrom("haft_artifact")
      .select(["media_type", "data"])
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? undefined : checkArtifact({ id, mediaType: row.media_type, data: row.data }, this.#connection.place);
  }

  async prune({ before }: { readonly before: number }): Promise<number> {
    const { numDeletedRows } = await this.#connection.tables.deleteFrom("haft_artifact").where("stored_at", "<", before).executeTakeFirst();
    return Number(numDeletedRows);
  }
}
