/**
 * Where commits ring that announce changes. Channels belong to the database, so each mirror in one has its own; of a
 * fixed length, because a name that is too long would be an error of the commit.
 */
export const changeChannel = "'rosterd_changes_' || md5(current_schema())";
