import { type Random, seededRandom } from '../../../runtime/random.js';
import { selfServeScopes } from '../../contract/scopes.js';
import { insertInvestment } from '../../investments/model.js';
import { appendFirst, publishFirst } from '../../investments/publisher.js';
import type { State } from '../../state/database.js';
import { run } from '../../state/statements.js';
import type { SandboxRealm, UninstalledCompany, WorldPlan } from '../document.js';
import {
  type SeededUser,
  type Seeding,
  sandboxRedirectUri,
  seedApplication,
  seedUser,
  seedWorldUser,
} from './accounts.js';
import { seedCatalog, seedTerms } from './catalog.js';
import {
  isPlainSafe,
  pastEnded,
  type SeededCompany,
  type SeededOffering,
  seedCompany,
  seedPastRound,
  seedSyndicate,
} from './companies.js';
import { insertInBulk } from './insert-in-bulk.js';
import { Crowd, inventInvestment, publishedAt } from './investments.js';

/**
 * Seeds the sandbox realm in one transaction. Random values are drawn in a fixed order, so the same seed produces the same
 * ids, names, amounts and secrets. Only times depend on when the world is made, and positions of the feed on `feedStart`.
 */
export function seedWorld(
  state: State,
  random: Random,
  plan: WorldPlan,
  now: number,
  feedStart: number,
): SandboxRealm {
  return state.transaction(() => {
    const seeding: Seeding = { state, random, now };
    run(state, 'INSERT INTO feed (no, start, head, observed_at, cursor_key) VALUES (1, ?, ?, ?, ?)', [
      feedStart,
      feedStart,
      publishedAt(now),
      random.bytes(32),
    ]);
    const owner = seedUser(seeding, 'owner', 'Olga Owner');
    const developer = seedUser(seeding, 'developer', 'Deniz Developer');
    const investors = [seedUser(seeding, 'ida', 'Ida Investor'), seedUser(seeding, 'ivan', 'Ivan Investor')];
    const application = seedApplication(seeding, {
      organization: 'Sandbox Partners',
      name: 'Roster Mirror',
      members: [
        [owner, 'owner'],
        [developer, 'developer'],
      ],
      scopes: selfServeScopes,
      approved: true,
    });
    const without = uninstalledOf(plan);
    const companies = Array.from({ length: plan.companies }, (_, index) =>
      seedCompany(seeding, without.has(index) ? null : application.no, index),
    );
    const earlier: Seeding = { state, random: seededRandom(plan.seed ^ pastStream), now };
    const past = companies.map((company) => {
      const round = seedPastRound(earlier, company);
      seedTerms(earlier, round);
      return round;
    });
    const founders = companies.map((company) => company.founder);
    const syndicates = [0, 1].map((index) =>
      seedSyndicate(seeding, application.no, founders[index] ?? owner, index),
    );
    const users = [owner, developer, ...founders, ...investors].map((user) =>
      seedWorldUser(seeding, application, user),
    );
    const insert = () => seedInvestments(seeding, companies, past, investors, plan.records);
    if (plan.companies * plan.records < manyRecords) insert();
    else insertInBulk(state, insert);
    seedCatalog(state, seededRandom(plan.seed ^ catalogStream), now, { companies, investors });
    return {
      apps: [
        {
          name: application.name,
          ...application.test,
          redirectUri: sandboxRedirectUri,
          live: application.live,
        },
      ],
      users,
      companies: companies.flatMap((company, index) =>
        company.install === null
          ? []
          : [{ ...outlineOf(company, past[index], plan.records), ...company.install }],
      ),
      uninstalled: companies.flatMap((company, index) =>
        company.install === null ? [outlineOf(company, past[index], plan.records)] : [],
      ),
      syndicates,
    };
  })();
}

const outlineOf = (
  company: SeededCompany,
  past: SeededOffering | undefined,
  investments: number,
): UninstalledCompany => ({
  id: company.id,
  name: company.name,
  offering: company.offerings[0]?.id ?? '',
  offerings: [...company.offerings, past].flatMap((round) => round?.id ?? []),
  founder: company.founder.id,
  investments,
});

/** Chooses the companies that have not installed the application, from a random stream of their own. */
function uninstalledOf({ seed, companies, installed }: WorldPlan): ReadonlySet<number> {
  const random = seededRandom(seed ^ uninstalledStream);
  const order = Array.from({ length: companies }, (_, index) => ({ index, rank: random.fraction() }));
  order.sort((a, b) => a.rank - b.rank);
  return new Set(order.slice(Math.round(companies * installed)).map(({ index }) => index));
}

const uninstalledStream = 0x756e696e;
/** An arbitrary constant that derives a second random stream from the seed. */
const catalogStream = 0x0ca7a106;
/** Below this, creating the indexes again takes longer than keeping them. */
const manyRecords = 20_000;
const pastStream = 0x70617374;

/** The first records of each company belong to the investors of the ready document, so that their tokens see records. */
function seedInvestments(
  seeding: Seeding,
  companies: readonly SeededCompany[],
  past: readonly SeededOffering[],
  named: readonly SeededUser[],
  records: number,
): void {
  const { state, random, now } = seeding;
  const crowd = new Crowd(seeding);
  const published = publishedAt(now);
  let first: number | null = null;
  for (const [number, company] of companies.entries()) {
    const [open, closed] = [company.offerings.find(isPlainSafe), past[number]];
    for (let index = 0; index < records; index += 1) {
      const known = named[index];
      const investor =
        known === undefined
          ? crowd.next()
          : {
              investor_no: known.no,
              investor_id: known.id,
              name: known.name,
              legal_name: known.name,
              email: known.email,
              address: null,
              bio: null,
              deactivated_at: null,
            };
      let invented = inventInvestment(random, published, company, investor);
      const old = invented.status === 'executed' && invented.applied_at < now - pastEnded;
      if (old && closed !== undefined && invented.offering_no === open?.no)
        invented = { ...invented, offering_no: closed.no, offering_id: closed.id };
      const no = insertInvestment(state, invented);
      publishFirst(state, no, invented, published);
      first ??= no;
    }
  }
  if (first !== null) appendFirst(state, first);
}
