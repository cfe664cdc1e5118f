// The columns of a table, listed once: property `createdAtMs` of a row is column `created_at_ms`. The parts of SQL that
// statements share are built from the list.
import type { RowValue } from './row-store.ts';

export interface Columns<Row> {
  names: readonly string[];
  /** For `returning ...`: each column under the name of its property. */
  returned: string;
  /** `select ... from table`. */
  select: string;
  /** `insert into table (...) values (...)`, with the parameters $1 and so on. */
  insert: string;
  /** The parameters of `insert`. */
  valuesOf(row: Row): RowValue[];
}

export function createColumns<Row extends { [Key in keyof Row]: RowValue }>(
  table: string,
  properties: readonly (keyof Row & string)[],
): Columns<Row> {
  const names = properties.map((property) => property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const returned = names.map((name, i) => `${name} as "${properties[i]}"`).join(', ');
  return {
    names,
    returned,
    select: `select ${returned} from ${table}`,
    insert: `insert into ${table} (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
    valuesOf: (row) => properties.map((property) => row[property]),
  };
}
