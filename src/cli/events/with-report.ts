import { pathOf } from '../terminal.ts';
import { DraftFile } from './draft-file.ts';
import { type Reasons, ReportWriter } from './report.ts';

/** Works with a report that is in its place once the work has ended well, and not at all otherwise. */
export async function withReport<T>(
  { path, reasons }: { readonly path: string | undefined; readonly reasons: Reasons },
  work: (report: ReportWriter | undefined) => Promise<T>,
): Promise<T> {
  if (path === undefined) return work(undefined);
  const draft = await DraftFile.create(pathOf(path));
  try {
    const report = new ReportWriter(draft, reasons);
    const result = await work(report);
    await report.flush();
    await draft.commit();
    return result;
  } catch (error) {
    await draft.discard().catch(() => {}); // the first error is the one to tell
    throw error;
  }
}
