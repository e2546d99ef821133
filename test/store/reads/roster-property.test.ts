import { describe, expect, test } from 'vitest';
import { addressFrom, rosterPath, wantedFrom } from '../../../src/console/pages/roster-address.js';
import { rosterOrders } from '../../../src/console/ports/roster.js';
import { withFoundPeople } from '../../../src/store/reads/dashboard/find-people.js';
import { rosterPage } from '../../../src/store/reads/dashboard/roster.js';
import { readMirror } from '../../../src/store/reads/read-mirror.js';
import fc from '../../support/property.js';
import { databases } from '../support/databases.js';
import { recordDefaults, sourceRow } from '../support/mirror.js';

/** SQL injection attempts, pattern characters and text that breaks encodings. */
const texts = [
  ...[
    "active' OR '1'='1",
    '%',
    '_',
    '\\',
    '"',
    "'; DROP TABLE investment_rows; --",
    'É',
    'é',
    '\u{1f331}',
    'a%b',
  ],
];
const text = fc.oneof(fc.constantFrom(...texts), fc.string({ unit: 'grapheme', maxLength: 8 }));
const rows = texts.map((status, index) => ({
  id: `inv_${index}`,
  status,
  offering_id: index % 2 === 0 ? `ofr_${status}` : null,
  committed_cents: index % 3 === 0 ? null : index,
}));
const asked = fc.record(
  {
    status: text,
    round: text.map((one) => `ofr_${one}`),
    id: fc.oneof(text, fc.constantFrom('inv_', 'inv_1', 'ofr_%')),
    order: fc.constantFrom(...rosterOrders, 'nothing'),
    dir: fc.constantFrom('asc', 'desc', ''),
    after: fc.oneof(
      fc.string(),
      fc.jsonValue().map((one) => Buffer.from(JSON.stringify(one)).toString('base64url')),
    ),
  },
  { requiredKeys: [] },
);

describe.each(databases)('the roster on $database', ({ open }) => {
  test('the roster shows exactly the rows its address asks for, each once, across pages', async () => {
    const mirror = await open();
    await mirror.insert('sources', sourceRow(1));
    for (const [index, row] of rows.entries()) {
      await mirror.insert('investment_rows', { row_no: index + 1, source_no: 1, ...recordDefaults, ...row });
      await mirror.insert('identity_rows', { row_no: index + 1, name: `Person ${row.status}`, email: null });
    }
    await readMirror(mirror.place, async (db) => {
      const shown = async (address: ReturnType<typeof addressFrom>, person: string) => {
        const ids: string[] = [];
        let after = address.after;
        for (;;) {
          const wanted = wantedFrom({ ...address, after }, person, true, 3);
          const filter = await withFoundPeople(db, wanted.filter);
          const page = await rosterPage(db, { ...wanted, filter });
          ids.push(...page.map(({ id }) => id));
          const last = page.at(-1);
          if (last === undefined || page.length < 3) return ids;
          after = { value: last[address.order], id: last.id, source: last.source };
        }
      };
      await fc.assert(
        fc.asyncProperty(
          asked,
          fc.oneof(fc.constant(''), fc.constantFrom('%', '_', '\\', "'", 'person')),
          async (query, person) => {
            const address = addressFrom(new URLSearchParams(query));
            // Writing an address and parsing it again gives the same address.
            const again = addressFrom(new URL(rosterPath(address), 'http://localhost').searchParams);
            expect(again).toEqual(address);
            await shown(address, person);
            const { status, round, id } = address.filter;
            const wanted = rows
              .filter((row) => status === undefined || row.status === status)
              .filter((row) => round === undefined || row.offering_id === round)
              .filter(
                (row) =>
                  id === undefined || (id.startsWith('ofr_') ? row.offering_id : row.id)?.startsWith(id),
              )
              .filter((row) => `Person ${row.status}`.toLowerCase().includes(person));
            const found = await shown({ ...address, after: null }, person);
            expect(found.toSorted()).toEqual(wanted.map((row) => row.id).toSorted());
          },
        ),
        { numRuns: 40 },
      );
    });
  });
});
