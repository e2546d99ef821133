import type { JsonObject } from '../../domain/json.js';

/** Returns a figure of the statement in hundredths, or undefined when the statement does not contain it. */
function hundredths(statement: JsonObject, key: string): bigint | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(statement[key] ?? ''));
  if (match === null) return undefined;
  const [, sign, whole, fraction = ''] = match;
  const value = BigInt(`${whole}${fraction.slice(0, 2).padEnd(2, '0')}`);
  return sign === '-' ? -value : value;
}

/** Returns `part / whole * scale` with two decimals, rounded half away from zero. Integer arithmetic rounds only once. */
function quotient(part: bigint | undefined, whole: bigint | undefined, scale: bigint): string | null {
  if (part === undefined || whole === undefined || whole <= 0n) return null;
  const exact = part * scale * 100n;
  const half = exact < 0n ? -whole : whole;
  const rounded = (2n * exact + half) / (2n * whole);
  const digits = String(rounded < 0n ? -rounded : rounded).padStart(3, '0');
  return `${rounded < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

const percent = (part: bigint | undefined, whole: bigint | undefined) => quotient(part, whole, 100n);

const sum = (a: bigint | undefined, b: bigint | undefined): bigint | undefined =>
  a === undefined || b === undefined ? undefined : a + b;

/** Computes the ratios of the most recent year on each request, so they always match the statements. */
export function ratiosOf(sections: JsonObject): JsonObject | null {
  const statements = sections.financial_statements as JsonObject | null | undefined;
  const year = statements?.most_recent as JsonObject | null | undefined;
  if (year == null) return null;
  const figure = (key: string) => hundredths(year, key);
  const revenue = figure('revenue');
  const assets = figure('total_assets');
  const cost = figure('cost_of_goods_sold');
  const gross = sum(revenue, cost === undefined ? undefined : -cost);
  const employees = (sections.business as JsonObject | null | undefined)?.employees;
  return {
    net_margin_percent: percent(figure('net_income'), revenue),
    gross_margin_percent: percent(gross, revenue),
    return_on_assets_percent: percent(figure('net_income'), assets),
    liabilities_to_assets_percent: percent(
      sum(figure('current_liabilities'), figure('non_current_liabilities')),
      assets,
    ),
    debt_to_assets_percent: percent(sum(figure('short_term_debt'), figure('long_term_debt')), assets),
    cash_to_assets_percent: percent(figure('cash_and_equivalents'), assets),
    revenue_per_employee:
      typeof employees === 'number' && employees > 0 && revenue !== undefined
        ? quotient(revenue, BigInt(employees) * 100n, 1n)
        : null,
  };
}
