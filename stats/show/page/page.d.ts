// The data of the scripts, for `tsc --checkJs` only (tests/page/types_test.py). The page does not contain this file.
interface Statistic {
  name: string;  // "l2norm"
  low: number;   // log2 of the least size
  step: number;  // of a code, in log2
  codes: Uint16Array;
}
interface Finding {
  rule: string;
  severity: string;
  op_name: string;
  rank: number | null;
  first_iteration: number | null;
  last_clean_iteration: number | null;
  text: string;
  next: string;
  run: number;
  tensor: number;  // -1: none of the page
}
interface ExponentSeries {
  tensor: number;
  lane: number;
  lowest: number;   // the lowest binade
  binades: number;
  offset: number;   // of exponent_codes
}
interface Run {
  version: string;
  source: string;
  rows: number;
  verdict: string;
  findings: Finding[];
  parting: number;  // the cell where B parts from A; -1: none
  measured: string[];
  not_measured: string[];
  notes: string[];
  tensors: any[];
  runs: string[];       // names of two runs; empty: there is one
  lane_runs: number[];  // the run of each lane
  ranks: number[];      // the rank of each lane
  pooled: number;       // iterations of a column
  follow: number;       // seconds
  iterations: number[];
  statistics: Statistic[];
  subjects: string[];   // all that a rule of the command may name
  limits: {[dtype: string]: number};
  loss: number;         // a tensor; -1: none
  loss_statistic: number;
  exact: any;
  exponents: any[];
  exponent_codes: Uint8Array;
  // Computed here.
  cells: number;
  faults: Uint8Array;
  flags: Uint8Array;
  by_label: Map<string, number>;
  faulty: Uint32Array;
  finding_counts: Uint32Array;
  present: Uint8Array;
}
interface View {
  statistic: number;
  colour: string;
  rank: number;  // a lane; -1: the worst
  from: number;
  to: number;
  top: number;
  bottom: number;
  tensor: number;
  column: number;
  finding: number;
  rows: number[];            // the tensors that are shown
  lines: {node: any, tensors: number[]}[];  // of the map
  met: Map<number, number>;  // of a tensor that a rule found: the first column
  keys: Uint16Array | null;
  table: Uint32Array | null;
  drag: any;
}
declare class DecompressionStream {
  constructor(format: string);
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}
interface NodeList {
  [Symbol.iterator](): IterableIterator<any>;
}
