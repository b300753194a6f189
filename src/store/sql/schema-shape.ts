/** The tables of a store in a form common to all databases, to compare actual tables with expected ones. */

export interface ColumnShape {
  readonly kind: "text" | "integer" | "other";
  readonly isRequired: boolean;
}

export interface TableShape {
  readonly columns: ReadonlyMap<string, ColumnShape>;
  /** Unique keys, each as its columns: `session, id`. */
  readonly keys: ReadonlySet<string>;
  /** The columns of the other indexes, by name. */
  readonly indexes: ReadonlyMap<string, string>;
  /** Foreign keys, such as `parent_id -> haft_session.id`. */
  readonly references: ReadonlySet<string>;
}

export interface SchemaShape {
  readonly tables: ReadonlyMap<string, TableShape>;
  /** Missing parts that only one of the databases has, described as text. */
  readonly missing: readonly string[];
}

export interface ColumnRow {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  /** 0 or false if the column may be null. */
  readonly required: number | boolean;
}

export interface IndexRow {
  readonly table: string;
  readonly name: string;
  readonly isUnique: number | boolean;
  /** In order, joined by `, `. */
  readonly columns: string;
}

export interface ReferenceRow {
  readonly table: string;
  readonly column: string;
  readonly target: string;
  readonly targetColumn: string;
}

/** Columns of keys count as required, whether or not the database says so. */
export function toTableShapes(rows: {
  readonly columns: readonly ColumnRow[];
  readonly indexes: readonly IndexRow[];
  readonly references: readonly ReferenceRow[];
}): ReadonlyMap<string, TableShape> {
  const tables = new Map<string, TableShape>();
  for (const table of new Set(rows.columns.map((row) => row.table))) {
    const indexes = rows.indexes.filter((row) => row.table === table);
    const references = rows.references.filter((row) => row.table === table);
    const own = rows.columns.filter((row) => row.table === table);
    tables.set(table, {
      columns: new Map(own.map(({ name, type, required }) => [name, { kind: kindOf(type), isRequired: Boolean(required) }])),
      keys: new Set(indexes.filter(({ isUnique }) => Boolean(isUnique)).map(({ columns }) => columns)),
      indexes: new Map(indexes.filter(({ isUnique }) => !isUnique).map(({ name, columns }) => [name, columns])),
      references: new Set(references.map(({ column, target, targetColumn }) => `${column} -> ${target}.${targetColumn}`)),
    });
  }
  return tables;
}

function kindOf(type: string): ColumnShape["kind"] {
  const known = type.toLowerCase();
  if (known === "text") return "text";
  return known === "integer" || known === "bigint" ? "integer" : "other";
}
