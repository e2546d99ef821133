/** A promise that was not kept; everything else a round throws is a fault of the torture itself. */
export class Violation extends Error {
  override readonly name = 'Violation';
}
