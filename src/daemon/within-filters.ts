import type { SourceConfig } from '../config/config.js';
import type { Investment } from '../domain/investment.js';

/**
 * Returns whether a source with these filters reads the investment. A single one is found by its id, whatever they are. An id
 * that the record lacks excludes nothing.
 */
export function isWithin(
  { companyId, offeringId, investorId }: SourceConfig['filters'],
  { company_id, offering_id, investor_id }: Investment,
): boolean {
  const matches = (wanted: string | undefined, found: string | null) =>
    wanted === undefined || found === null || wanted === found;
  return (
    matches(companyId, company_id) && matches(offeringId, offering_id) && matches(investorId, investor_id)
  );
}
