-- Secrets that rosterd writes itself, encrypted with keys that the server never sees: tokens, sign-ins, signing secrets.
-- They have a schema of their own, which no reader role may use, and which `rosterd backup` leaves out. A database that
-- was restored from such a backup gets the schema again when the vault is opened, so every statement may run twice.
CREATE SCHEMA IF NOT EXISTS :"vault";

CREATE TABLE IF NOT EXISTS :"vault".vault_entries (
  key        text COLLATE "C" PRIMARY KEY,
  -- A hash of the encryption key, never the key.
  key_id     text COLLATE "C" NOT NULL,
  -- Nonce, ciphertext and tag of AES-256-GCM in base64. `key` is associated data.
  sealed     text COLLATE "C" NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE :"vault".vault_entries ALTER sealed SET STATISTICS 0;

-- One holder for each key, over all hosts, on the server's clock. A write under a lock carries its fence.
CREATE TABLE IF NOT EXISTS :"vault".vault_locks (
  key        text COLLATE "C" PRIMARY KEY,
  holder     text COLLATE "C" NOT NULL,
  fence      bigint NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE SEQUENCE IF NOT EXISTS :"vault".vault_fences;
