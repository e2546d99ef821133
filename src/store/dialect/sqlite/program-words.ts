/**
 * Instructions of SQLite's virtual machine that use only registers, transient tables and cursors that are already open,
 * and those that open a cursor, which `judge-program.ts` checks. All others are refused: instructions that run SQL, or
 * check, rewrite or write the file, and any that a later SQLite adds.
 */
export const knownInstructions: ReadonlySet<string> = new Set(
  `OpenRead ReopenIdx VOpen
  Init Goto Gosub InitCoroutine Yield Return EndCoroutine BeginSubrtn Jump Once If IfNot IfNullRow IfNotOpen IfNoHope
  IfSizeBetween IfEmpty IfPos IfNotZero DecrJumpZero ElseEq HaltIfNull Halt Noop Explain Abortable Trace CursorHint
  ReleaseReg Transaction ReadCookie Pagecount Expire
  SeekLT SeekLE SeekGE SeekGT SeekRowid SeekScan SeekHit SeekEnd NotExists NoConflict NotFound Found Last Rewind Prev
  Next IdxLE IdxGT IdxLT IdxGE IFindKey DeferredSeek FinishSeek IdxRowid Rowid NullRow Count RowData Column ColumnsUsed Close
  OpenDup OpenAutoindex OpenEphemeral OpenPseudo SorterOpen SorterSort Sort SorterNext SorterInsert SorterCompare
  SorterData ResetSorter Sequence SequenceTest NewRowid Insert IdxInsert Delete IdxDelete RowSetAdd RowSetRead
  RowSetTest Filter FilterAdd
  VFilter VNext VColumn VInitIn
  Integer Int64 Real String String8 Blob Null SoftNull Move Copy SCopy IntCopy MustBeInt IsType Not And Or BitAnd BitOr
  BitNot ShiftLeft ShiftRight Add Subtract Multiply Divide Remainder Concat AddImm RealAffinity Cast Affinity IsTrue
  ZeroOrNull IsNull NotNull Ne Eq Gt Le Lt Ge CollSeq Permutation Compare MakeRecord ResultRow MemMax OffsetLimit
  Function PureFunc AggStep AggStep1 AggInverse AggValue AggFinal ClrSubtype GetSubtype SetSubtype`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

/** Instructions whose P4 names a function. */
export const callingInstructions: ReadonlySet<string> = new Set([
  ...['Function', 'PureFunc', 'AggStep', 'AggStep1', 'AggInverse', 'AggValue', 'AggFinal'],
]);

/** Functions that only compute, although SQLite does not declare them innocuous. */
export const plainFunctions: ReadonlySet<string> = new Set([
  ...['median', 'percentile', 'percentile_cont', 'percentile_disc'],
]);

/**
 * Virtual tables that only depend on their arguments or describe the schema. All others are refused, such as `dbstat` and
 * `sqlite_dbpage`, which read pages of the file, and `pragma_integrity_check`, which reads every table.
 */
export const openModules = [
  ...['json_each', 'json_tree', 'pragma_table_list', 'pragma_table_info', 'pragma_table_xinfo'],
  ...['pragma_index_list', 'pragma_index_info', 'pragma_index_xinfo', 'pragma_foreign_key_list'],
  ...['pragma_function_list', 'pragma_module_list', 'pragma_compile_options', 'pragma_collation_list'],
] as const;
