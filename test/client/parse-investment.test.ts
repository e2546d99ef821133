import { describe, expect, test } from 'vitest';
import type { FeedItem } from '../../src/domain/investment.js';
import fc from '../support/property.js';
import { deactivated, tombstone, wholeRecord, withoutIdentity } from './fixtures.js';
import { parseInvestment, problemOf, recordOf } from './parsed-investment.js';

describe('parse investment: a complete record', () => {
  test('INV-22 CLIENT-18 amounts are the integers in cents, whatever the deprecated decimals say', () => {
    const { amounts, ...record } = wholeRecord() as { amounts: object };
    const { investment } = recordOf({
      ...record,
      amounts: { ...amounts, committed: '1.00', raised: '1.00' },
    });
    expect(investment).toMatchObject({
      currency: 'usd',
      committed_cents: 250000,
      investment_size_cents: 249936,
      in_escrow_cents: 250000,
      raised_cents: 249936,
    });
  });

  test('INV-23 INV-24 contracts, shares and the price of a share are kept as sent', () => {
    const { investment } = recordOf(wholeRecord());
    expect(JSON.parse(investment.contracts ?? '[]')).toEqual([
      expect.objectContaining({ override_amount_cents: null }),
    ]);
    expect([investment.shares, investment.average_share_price]).toEqual(['738.5', '3.3844']);
    const none = recordOf({ ...wholeRecord(), shares: null, average_share_price: null }).investment;
    expect([none.shares, none.average_share_price]).toEqual([null, null]);
  });

  test("INV-19 INV-21 the contract's example record maps to columns completely", () => {
    expect(parseInvestment(wholeRecord())).toEqual({
      kind: 'record',
      investment: {
        id: 'inv_4mT9xQpL2sVb7RkD0wYcA1',
        company_id: 'co_Q8rL1dSf6JyG4cNb0kTz',
        offering_id: 'ofr_7HnB3vKe9ZtW5uXaP2mQ',
        investor_id: 'usr_V2xC8mHq5TbD1pRw7LsK',
        status: 'active',
        group_label: 'IS READY',
        investment_type: 'Equity',
        offering_type: 'Reg CF',
        applied_at: '2026-10-18T14:05:22.000Z',
        currency: 'usd',
        committed_cents: 250000,
        investment_size_cents: 249936,
        in_escrow_cents: 250000,
        raised_cents: 249936,
        shares: '738.5',
        average_share_price: '3.3844',
        needs_whitelisting: false,
        visible: true,
        converted_to: null,
        converted_from: null,
        investor_deactivated: false,
        via_entity: true,
        blockers: '[{"description":"A government id is missing","key":"needs_id"}]',
        contracts: '[{"early_bird":true,"name":"Subscription Agreement","override_amount_cents":null}]',
        observed_at: '2026-10-20T09:30:04.000Z',
        reason: 'changed',
        extra: null,
      },
      identity: {
        name: 'Mara Lindqvist',
        legal_name: 'Lindqvist Holdings LLC',
        email: 'mara@example.org',
        address_line: '12 Harbour Row, Unit 3',
        city: 'Portland',
        state: 'ME',
        postal_code: '04101',
        country: 'United States',
        bio: null,
        message: 'Glad to back the team.',
        external_username: null,
        email_hidden: false,
        extra: null,
      },
    });
  });

  test('a record of a deactivated investor keeps the investment and is already redacted', () => {
    const item = recordOf(deactivated());
    expect(item.investment).toMatchObject({ investor_deactivated: true, reason: 'investor_deactivated' });
    expect(item.identity).toMatchObject({ name: '[deleted user]', email: null, address_line: null });
  });

  test('CLIENT-26 a record without the identity grant is complete and has no identity', () => {
    const item = recordOf(withoutIdentity());
    expect(item.identity).toBeNull();
    expect(item.investment).toEqual(recordOf(wholeRecord()).investment);
  });

  test('CLIENT-26 identity keys that are null differ from absent keys', () => {
    expect(recordOf({ ...withoutIdentity(), message: null }).identity).toMatchObject({
      message: null,
      name: null,
    });
  });

  test('the hidden e-mail flag is stored next to the e-mail', () => {
    expect(recordOf({ ...wholeRecord(), company_email_hidden: true }).identity?.email_hidden).toBe(true);
  });

  test('INV-20 VERS-17 CLIENT-19 unknown enum values are kept as sent', () => {
    const item = recordOf({ ...wholeRecord(), status: 'escheated', reason: 'solar_flare', group: 'ON HOLD' });
    expect(item.investment).toMatchObject({
      status: 'escheated',
      reason: 'solar_flare',
      group_label: 'ON HOLD',
    });
  });

  test.each([
    [undefined, 'needs_whitelisting', true],
    [null, 'needs_whitelisting', true],
    [false, 'needs_whitelisting', true],
    [true, 'active', true],
    [false, 'active', false],
    [undefined, 'active', false],
  ])(
    'INV-20 INV-25 a record with the flag %j and the status %s needs whitelisting: %j',
    (flag, status, needs) => {
      const record = { ...wholeRecord(), needs_whitelisting: flag, status };
      expect(recordOf(record).investment.needs_whitelisting).toBe(needs);
    },
  );

  test('VERS-17 CLIENT-19 unknown fields are kept under their own path, as canonical JSON', () => {
    const record = wholeRecord();
    const item = recordOf({
      zeta: { b: 1, a: [null, 'x'] },
      ...record,
      amounts: { ...(record.amounts as object), fee_cents: 12 },
      alpha: true,
    });
    expect(item.investment.extra).toBe(
      '{"alpha":true,"amounts":{"fee_cents":12},"zeta":{"a":[null,"x"],"b":1}}',
    );
    expect(item.identity?.extra).toBeNull();
  });

  test('undocumented keys of contracts and blockers are kept in extra, under their path', () => {
    const item = recordOf({
      ...wholeRecord(),
      contracts: [
        { name: 'c', early_bird: false, signer: 'Canary Signer' },
        { name: { first: 'Canary' }, override_amount_cents: 5 },
        'Canary Text',
      ],
      blockers: [{ key: 'kyc', description: null, who: { name: 'Canary' } }],
    });
    expect(item.investment).toMatchObject({
      contracts: '[{"early_bird":false,"name":"c"},{"override_amount_cents":5}]',
      blockers: '[{"description":null,"key":"kyc"}]',
    });
    expect(JSON.parse(item.investment.extra ?? '')).toEqual({
      'contracts.signer': ['Canary Signer', null, null],
      'contracts.name': [null, { first: 'Canary' }, null],
      contracts: [null, null, 'Canary Text'],
      'blockers.who': [{ name: 'Canary' }],
    });
  });

  test('unknown fields of the investor describe a person and are stored with the identity only', () => {
    const record = withoutIdentity();
    const investor = record.investor as object;
    const item = recordOf({
      ...record,
      investor: { ...investor, nickname: 'Mo', address: { line: '1 Way', floor: 3 } },
    });
    expect(item.identity).toMatchObject({
      address_line: '1 Way',
      extra: '{"address":{"floor":3},"nickname":"Mo"}',
    });
    expect(item.investment.extra).toBeNull();
  });

  test('a whole number of an unknown field is exact up to 2^53, and rounded beyond it as docs/querying.md says', () => {
    const sent = JSON.parse('{"largest":9007199254740991,"larger":9007199254740993}') as object;
    expect(recordOf({ ...wholeRecord(), ...sent }).investment.extra).toBe(
      '{"larger":9007199254740992,"largest":9007199254740991}',
    );
  });

  test('the cursor of a record belongs to the page and is not drift', () => {
    expect(recordOf({ ...wholeRecord(), cursor: 'c_9' }).investment.extra).toBeNull();
  });
});

describe('parse investment: tombstones', () => {
  test('INV-26 INV-28 CLIENT-08 an invisible record without a status is a tombstone', () => {
    expect(parseInvestment(tombstone())).toEqual({
      kind: 'tombstone',
      id: 'inv_9kW3pTz0RbN6vYd2HsQxE8',
      observed_at: '2026-10-20T09:31:10.000Z',
      reason: 'changed',
    });
  });

  test("INV-27 CLIENT-08 a user's own canceled investment is a record although it is not visible", () => {
    const item = recordOf({ ...wholeRecord(), visible: false, status: 'canceled' });
    expect(item.investment).toMatchObject({ visible: false, status: 'canceled' });
  });

  test('a null status beside content deletes nothing', () => {
    const { amounts, investor, ...rest } = wholeRecord();
    const bare = { ...rest, visible: false, status: null };
    expect(problemOf({ ...bare, amounts, investor })).toBe('status is missing');
    expect(problemOf({ ...bare, amounts })).toBe('status is missing');
    expect(problemOf({ ...bare, investor })).toBe('amounts is missing');
    expect(parseInvestment({ ...tombstone(), status: null }).kind).toBe('tombstone');
  });

  test('a visible record without a status is neither a record nor a tombstone', () => {
    expect(problemOf({ ...tombstone(), visible: true })).toContain('is missing');
  });
});

describe('parse investment: rejected records', () => {
  const record = wholeRecord();
  const amounts = record.amounts as object;
  const investor = record.investor as object;

  test.each([
    ['a list', [], 'the record is not an object'],
    ['null', null, 'the record is not an object'],
    ['no id', { ...record, id: undefined }, 'id is missing'],
    ['another kind of id', { ...record, id: 'co_1' }, 'id is not an id of the kind "investment"'],
    ['an id with a quote', { ...record, id: "inv_1'" }, 'id is not an id of the kind "investment"'],
    [
      'a company id of another kind',
      { ...record, company: 'ofr_1' },
      'company is not an id of the kind "company"',
    ],
    ['visible as text', { ...record, visible: 'true' }, 'visible is not true or false'],
    ['no visible', { ...record, visible: undefined }, 'visible is missing'],
    ['no observed_at', { ...record, observed_at: undefined }, 'observed_at is missing'],
    [
      'a day that does not exist',
      { ...record, observed_at: '2026-02-31T00:00:00Z' },
      'observed_at is not a timestamp',
    ],
    ['a timestamp as number', { ...record, applied_at: 1792500000 }, 'applied_at is not a timestamp'],
    ['no amounts', { ...record, amounts: undefined }, 'amounts is missing'],
    ['no commitment', { ...record, amounts: { currency: 'usd' } }, 'amounts.committed_cents is missing'],
    [
      'cents beyond 2^53',
      { ...record, amounts: { ...amounts, raised_cents: 2 ** 53 } },
      'amounts.raised_cents is not a whole number within 2^53',
    ],
    [
      'a fraction of a cent',
      { ...record, amounts: { ...amounts, committed_cents: 12.5 } },
      'amounts.committed_cents is not a whole number within 2^53',
    ],
    [
      'cents as text',
      { ...record, amounts: { ...amounts, committed_cents: '250000' } },
      'amounts.committed_cents is not a whole number within 2^53',
    ],
    [
      'unknown cents beyond 2^53',
      { ...record, amounts: { ...amounts, fee_cents: 1e300 } },
      'an unknown field of amounts is not a whole number within 2^53',
    ],
    [
      'a contract beyond 2^53',
      { ...record, contracts: [{ override_amount_cents: 2 ** 60 }] },
      'contracts.override_amount_cents is not a whole number within 2^53',
    ],
    ['shares as number', { ...record, shares: 738.5 }, 'shares is not a decimal number as text'],
    ['shares as prose', { ...record, shares: 'many' }, 'shares is not a decimal number as text'],
    ['blockers as object', { ...record, blockers: {} }, 'blockers is not an array'],
    ['an investor as text', { ...record, investor: 'Mara Lindqvist' }, 'investor is not an object'],
    ['a name as list', { ...record, investor: { ...investor, name: ['Mara'] } }, 'investor.name is not text'],
    [
      'an address as text',
      { ...record, investor: { ...investor, address: 'Row 3' } },
      'investor.address is not an object',
    ],
  ])('a record with %s is rejected, and the problem names the field', (_, value, problem) => {
    expect(problemOf(value)).toBe(problem);
  });

  test('a rejected record keeps its body, and its id if it has one', () => {
    const value = { ...record, observed_at: 'yesterday' };
    expect(parseInvestment(value)).toMatchObject({
      kind: 'rejected',
      id: record.id,
      body: 'as sent',
    });
  });

  test.each([
    [
      'a deactivated person',
      { ...record, shares: 7, investor: { ...investor, deactivated: true } },
      'deactivated',
    ],
    [
      'a deactivation of the wrong type',
      { ...record, investor: { ...investor, deactivated: 'yes' } },
      'deactivated',
    ],
    ['a tombstone without its time', { id: record.id, visible: false }, 'tombstone'],
    [
      'a person who is not deactivated',
      { ...record, shares: 7, investor: { ...investor, deactivated: false } },
      undefined,
    ],
    ['an investor that is not an object', { ...record, investor: 7 }, undefined],
  ])('a rejected record still reports an erasure: %s', (_, value, erases) => {
    const item = parseInvestment(value);
    expect(item).toMatchObject({ kind: 'rejected', id: record.id });
    expect(item.kind === 'rejected' && item.erases).toBe(erases);
  });

  test('an error of the program while a record is read is thrown, and no problem of the record', () => {
    const error = new Error('a defect');
    const reading = {
      ...record,
      get group(): string {
        throw error;
      },
    };
    expect(() => parseInvestment(reading)).toThrow(error);
  });

  test('a rejection never quotes a value that could identify a person', () => {
    const secret = 'Zaphod-Canary';
    for (const field of ['name', 'legal_name', 'email', 'bio', 'address', 'nickname']) {
      const item = parseInvestment({
        ...record,
        id: null,
        investor: { ...investor, [field]: [secret] },
        message: 3,
      });
      expect(item.kind).toBe('rejected');
      expect((item as { problem: string }).problem).not.toContain(secret);
    }
  });
});

describe('parse investment: hostile values', () => {
  test('NUL and half a surrogate pair become U+FFFD, everything else stays as sent', () => {
    const item = recordOf({ ...wholeRecord(), message: 'a\0b\ud800c\u202e' });
    expect(item.identity?.message).toBe('a\uFFFDb\uFFFDc\u202e');
  });

  test('a key called __proto__ is ordinary data and changes no prototype', () => {
    const hostile = JSON.parse(
      `{"__proto__":{"status":"active","polluted":1},${JSON.stringify(wholeRecord()).slice(1)}`,
    );
    expect(recordOf(hostile).investment.extra).toBe('{"__proto__":{"polluted":1,"status":"active"}}');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(parseInvestment(JSON.parse('{"__proto__":{"visible":false,"id":"inv_1"}}')).kind).toBe('rejected');
  });

  test('any JSON becomes a record, a tombstone or a rejection, never an exception', () => {
    const field = fc.constantFrom(...Object.keys(wholeRecord()), 'investor', '__proto__', 'constructor');
    fc.assert(
      fc.property(
        fc.oneof(fc.jsonValue(), fc.dictionary(field, fc.jsonValue())),
        fc.dictionary(field, fc.jsonValue(), { maxKeys: 3 }),
        (any, mutation) => {
          const mutated = { ...wholeRecord(), ...mutation };
          for (const item of [parseInvestment(any), parseInvestment(mutated)]) expectSound(item);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('any text in a field becomes text that every database can store', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const item = recordOf({ ...wholeRecord(), group: text, message: text, note: { [text]: text } });
        const kept = [item.investment.group_label, item.identity?.message, item.investment.extra];
        for (const value of kept) {
          expect(value?.isWellFormed()).toBe(true);
          expect(value).not.toContain('\0');
        }
      }),
      { numRuns: 1000 },
    );
  });

  function expectSound(item: FeedItem): void {
    if (item.kind === 'rejected') {
      expect(item.problem).not.toBe('');
      return;
    }
    const id = item.kind === 'record' ? item.investment.id : item.id;
    expect(id).toMatch(/^invt?_/);
  }
});
