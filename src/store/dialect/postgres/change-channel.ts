/**
 * The channel that a commit notifies when it adds to the change feed. Channels are shared by the whole database, so each
 * schema has its own. The name is a hash: a longer name could exceed PostgreSQL's limit and fail the commit.
 */
export const changeChannel = "'rosterd_changes_' || md5(current_schema())";
