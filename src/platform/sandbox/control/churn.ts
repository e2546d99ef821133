import type { Source } from '../../investments/derive.js';
import { loadInvestment } from '../../investments/model.js';
import type { Services } from '../../services.js';
import { all, one } from '../../state/statements.js';
import { between, pick, weighted } from '../seed/picks.js';
import { type ActingCompany, amend, convert, invest, recompute, withdraw } from './act.js';
import type { RecordPatch } from './record-patch.js';

/** Makes that many random changes at once. Returns the ids of the changed investments, in order. */
export function churn(
  services: Services,
  changes: number,
  company: ActingCompany | null,
  now: number,
): string[] {
  const change = randomChange(services, company);
  return Array.from({ length: changes }, () => change(now));
}

/** Returns a function that makes one random change and returns the id of the changed investment. */
export function randomChange(services: Services, company: ActingCompany | null): (now: number) => string {
  const companies = company === null ? all<ActingCompany>(services.state, installedCompaniesSql) : [company];
  return (now) => changeSomething(services, pick(services.random, companies), now);
}

/** Changes only companies with an installation and a round. Companies that only fill the catalog do not change. */
const installedCompaniesSql = `SELECT no, id FROM companies c WHERE realm = 'test'
  AND EXISTS (SELECT 1 FROM installations i WHERE i.company_no = c.no)
  AND EXISTS (SELECT 1 FROM offerings o WHERE o.company_no = c.no) ORDER BY no`;

const happenings = [
  ['create', 30],
  ['pay', 15],
  ['raise', 15],
  ['write', 10],
  ['execute', 8],
  ['cancel', 8],
  ['withdraw', 6],
  ['convert', 4],
  ['recompute', 4],
] as const;

function changeSomething(services: Services, company: ActingCompany, now: number): string {
  const { random } = services;
  const happening = weighted(random, happenings);
  const source = happening === 'create' ? undefined : anyInvestment(services, company);
  if (source === undefined) return invest(services, company, {}, now);
  if (happening === 'withdraw') withdraw(services, source.id, now);
  else if (happening === 'convert') convert(services, source, now);
  else if (happening === 'recompute') recompute(services, source, now);
  else amend(services, source.id, patchFor(happening, services, source), now);
  return source.id;
}

function patchFor(
  happening: 'create' | 'pay' | 'raise' | 'write' | 'execute' | 'cancel',
  services: Services,
  source: Source,
): RecordPatch {
  switch (happening) {
    case 'pay':
      return { group: 'IS READY', amounts: { in_escrow_cents: source.committed_cents } };
    case 'raise': {
      const change = between(services.random, 1, 50) * 10_000;
      const raised = source.committed_cents + change;
      // A number beyond 2^53 is not exact. There is one more change all the same.
      const committed = raised <= Number.MAX_SAFE_INTEGER ? raised : source.committed_cents - change;
      return { amounts: { committed_cents: committed } };
    }
    case 'execute':
      return { status: 'executed' };
    case 'cancel':
      return { status: source.status === 'canceled' ? 'active' : 'canceled' };
    default:
      if (source.deactivated_at !== null) return {};
      return { message: `Note ${between(services.random, 1, 1_000_000)} from an investor.` };
  }
}

/** Picks the first investment at or after a random row number: a few index steps, regardless of the table size. */
function anyInvestment(services: Services, company: ActingCompany): Source | undefined {
  const range = one<{ low: number | null; high: number | null }>(services.state, rangeSql, [
    company.no,
    company.no,
  ]);
  if (range?.low == null || range.high === null) return undefined;
  const from = between(services.random, range.low, range.high);
  const next =
    one<{ no: number }>(services.state, standingSql, [company.no, from]) ??
    one<{ no: number }>(services.state, standingSql, [company.no, range.low]);
  return next === undefined ? undefined : loadInvestment(services.state, next.no);
}

const rangeSql = `SELECT (SELECT no FROM investments WHERE company_no = ? ORDER BY no LIMIT 1) AS low,
  (SELECT no FROM investments WHERE company_no = ? ORDER BY no DESC LIMIT 1) AS high`;
const standingSql = `SELECT no FROM investments WHERE company_no = ? AND no >= ? AND deleted_at IS NULL
  AND status <> 'converted' ORDER BY no LIMIT 1`;
