import { expect, test } from 'vitest';
import { isWithin } from '../../src/daemon/within-filters.js';
import { investment } from '../store/samples.js';

const record = investment('inv_1', { company_id: 'co_1', offering_id: 'ofr_1', investor_id: 'usr_1' });
const filters = { companyId: 'co_1', offeringId: 'ofr_1', investorId: 'usr_1' } as never;

test.each([
  ['without filters', {}, record, true],
  ['whose filters it matches', filters, record, true],
  ['of another company', filters, { ...record, company_id: 'co_2' }, false],
  ['of another round', filters, { ...record, offering_id: 'ofr_2' }, false],
  ['of another investor', filters, { ...record, investor_id: 'usr_2' }, false],
  // An older record may lack them. The platform returned it to this token.
  [
    'when it names none of them',
    filters,
    { ...record, company_id: null, offering_id: null, investor_id: null },
    true,
  ],
] as const)('within filters: a record and a source %s', (_, wanted, found, within) => {
  expect(isWithin(wanted, found)).toBe(within);
});
