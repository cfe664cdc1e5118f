// Defines the contract of a bench and its findings: tables, and goals with the measured figures. Figures are not
// rounded; columns choose the digits to print.

export interface Bench {
  /** One line that states the measured quantity and the baseline. */
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
  /** Decimal places of numbers. */
  digits?: number;
}

export type Cell = string | number | undefined;

/** A figure that must be neither above `max` nor below `min`. */
export interface Goal {
  name: string;
  figure: number;
  digits: number;
  max?: number;
  min?: number;
}

export const isMet = ({ figure, max = Infinity, min = -Infinity }: Goal): boolean => figure <= max && figure >= min;
