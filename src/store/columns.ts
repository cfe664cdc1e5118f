// A table's columns, told once: a property `createdAtMs` of a row is the column `created_at_ms`. From the list of
// properties come the texts that its statements have in common.
import type { RowValue } from './row-store.ts';

export interface Columns<Row> {
  /** For `insert into table (...)`. */
  names: string;
  /** For `values (...)`: $1 to as many as there are. */
  places: string;
  /** For `select ...` and `returning ...`. */
  selected: string;
  /** In the order of the places. */
  valuesOf(row: Row): RowValue[];
}

export function createColumns<Row extends { [Key in keyof Row]: RowValue }>(
  properties: readonly (keyof Row & string)[],
): Columns<Row> {
  const nameOf = (property: string) => property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return {
    names: properties.map(nameOf).join(', '),
    places: properties.map((_, i) => `$${i + 1}`).join(', '),
    selected: properties.map((property) => `${nameOf(property)} as "${property}"`).join(', '),
    valuesOf: (row) => properties.map((property) => row[property]),
  };
}
