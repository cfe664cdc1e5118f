// Parses the bodies and queries of /api/audio/jobs.
import type { Page } from '../../api/page.ts';
import { Failure } from '../../errors.ts';
import { type JobStatus, jobStatuses } from '../../jobs/job.ts';
import { chapterFieldNames, type JobRequest, jobFieldNames, parseJobRequest } from '../../jobs/job-request.ts';
import { type Fields, isObject, type SortedFields, sortFields, type UnknownField } from '../known-fields.ts';
import { takePage, takeText } from '../page-query.ts';

export async function parseJobBody(
  given: Fields,
  isStrict: boolean,
): Promise<{ request: JobRequest; ignored: UnknownField[] }> {
  const { fields, ignored, faults } = sortFields(given, jobFieldNames, isStrict);
  const { chapters } = fields;
  const sorted = Array.isArray(chapters)
    ? chapters.map((chapter, i) => {
        if (!isObject(chapter)) return chapter;
        const own = sortFields(chapter, chapterFieldNames, isStrict, `chapters[${i}].`);
        for (const each of own.ignored) ignored.push(each);
        for (const each of own.faults) faults.push(each);
        return own.fields;
      })
    : chapters;
  return { request: await parseJobRequest({ ...fields, chapters: sorted }, faults), ignored };
}

export function parseJobQuery({ fields, faults }: SortedFields): { status: JobStatus | undefined; page: Page } {
  const given = takeText(fields, 'status', faults);
  const status = jobStatuses.find((each) => each === given);
  if (given !== '' && !status) {
    const message = `must be one of ${jobStatuses.join(', ')}`;
    faults.push({ field: 'status', reason: 'enum', message, allowed: jobStatuses });
  }
  const page = takePage(fields, ['jobs', status ?? ''], faults);
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  return { status, page };
}

/** The revision in a `Last-Event-ID`; one that cannot be read means everything. */
export const parseLastEventId = (given: string | string[] | undefined): number =>
  typeof given === 'string' && /^\d{1,15}$/.test(given) ? Number(given) : 0;
