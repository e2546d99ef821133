import { parseInvestment as parse } from '../../src/client/parse-investment.js';

export const parseInvestment = (value: unknown) => parse(value, () => 'as sent');

export function recordOf(value: unknown) {
  const item = parseInvestment(value);
  if (item.kind !== 'record') throw new Error(`expected a record: ${JSON.stringify(item)}`);
  return item;
}

export function problemOf(value: unknown): string {
  const item = parseInvestment(value);
  if (item.kind !== 'rejected') throw new Error(`expected a rejection, not a ${item.kind}`);
  return item.problem;
}
