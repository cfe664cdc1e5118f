// What a bench is and what it finds: tables to read, and goals with the figure that was found beside each. Figures are
// kept as they are; how many digits are worth printing is the column's affair.

export interface Bench {
  /** In one line: what is measured against what. */
  about: string;
  run(): Promise<Findings>;
}

export interface Findings {
  tables: readonly Table[];
  goals: readonly Goal[];
}

export interface Table {
  title: string;
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
}

export interface Column {
  name: string;
  /** After the point, for numbers. */
  digits?: number;
}

export type Cell = string | number | undefined;

/** A figure that must not be over `max`, nor under `min`. */
export interface Goal {
  name: string;
  figure: number;
  digits: number;
  max?: number;
  min?: number;
}

export const isMet = ({ figure, max = Infinity, min = -Infinity }: Goal): boolean => figure <= max && figure >= min;
