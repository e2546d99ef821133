-- No planner statistics of columns in which earlier versions stored unknown keys: samples would outlive an erasure.

ALTER TABLE investment_rows ALTER contracts SET STATISTICS 0, ALTER blockers SET STATISTICS 0;
ALTER TABLE history_rows ALTER contracts SET STATISTICS 0, ALTER blockers SET STATISTICS 0;
ALTER TABLE :"identity".staged_rows ALTER contracts SET STATISTICS 0, ALTER blockers SET STATISTICS 0;
