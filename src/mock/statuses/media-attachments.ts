import type { Random } from '../random.ts';
import type { Account } from './accounts.ts';
import { ApiError, checkRules, recordOf } from './answers.ts';
import { isBlank, leadingInteger, type Parameters, type Scalar, scalar } from './parameters.ts';

/** How many media a status may have. */
const MEDIA_MAX = 4;
const DESCRIPTION_MAX = 1500;

/** An uploaded file. Its bytes are not kept. */
export interface Media {
  readonly id: number;
  readonly account: Account;
  readonly type: 'unknown' | 'image' | 'gifv' | 'video' | 'audio';
  /** Where the file would be, on the server that it was uploaded to. */
  readonly url: string;
  /** Change until a status with the file is published. */
  details: Details;
}

interface Details {
  readonly description: string | null;
  /** the point of the picture that stays in view: -1 to 1, to the right and upwards */
  readonly focus?: { readonly x: number; readonly y: number };
}

/** A file as the API shows it. */
export function mediaEntity({ id, type, url, details: { description, focus } }: Media) {
  return {
    id: String(id),
    type,
    url,
    preview_url: url,
    remote_url: null,
    preview_remote_url: null,
    text_url: null,
    meta: { focus },
    description,
    blurhash: type === 'image' ? 'UBL_:rOpGG-oBUNG,qRj2so|=eE1w^n4S5NH' : null,
  };
}

export type MediaAttachments = ReturnType<typeof mediaAttachments>;

/** The files that were uploaded, and which of them a scheduled or a published status holds. */
export function mediaAttachments(random: Random) {
  const uploaded = new Map<number, Media>();
  const holders = new Map<number, 'scheduled' | 'published'>();
  const isFree = (account: Account, media: Media | undefined): media is Media =>
    media?.account === account && !holders.has(media.id);
  const find = (account: Account, id: string) =>
    recordOf(uploaded, id, (one) => one.account === account && holders.get(one.id) !== 'published');
  return {
    /**
     * Takes a file in.
     * @param sent `file`, and where wanted `description` and `focus`
     * @param baseUrl where the caller reached the mock
     * @throws ApiError 422 where no file was sent
     */
    upload(account: Account, sent: Parameters, baseUrl: string): Media {
      const { file } = sent;
      if (!(file instanceof File)) throw new ApiError(422, "Validation failed: File can't be blank");
      const details = detailsOf(sent, { description: null });
      const id = uploaded.size + 1;
      const extension = /\.\w+$/.exec(file.name)?.[0] ?? '';
      const url = `${baseUrl}/system/media_attachments/files/${id}/original/${random.id(16)}${extension}`;
      const media = { id, account, type: typeOf(file), url, details };
      uploaded.set(id, media);
      return media;
    },

    /** @throws ApiError 404 where the caller has no such file, or has published it */
    find,

    /** Changes the description and the focus, in a scheduled status too. @throws ApiError as `find`, 422 */
    update(account: Account, id: string, sent: Parameters): Media {
      const media = find(account, id);
      media.details = detailsOf(sent, media.details);
      return media;
    },

    /**
     * The files that a new status is to have.
     * @throws ApiError 422 if there are too many, or one is unknown, of another user, or part of another status
     */
    choose(account: Account, ids: readonly Scalar[]): Media[] {
      if (ids.length > MEDIA_MAX) throw tooManyFiles();
      const named = ids.map((id) => ({ id, media: uploaded.get(leadingInteger(id)) }));
      const missing = named.filter(({ media }) => !isFree(account, media)).map(({ id }) => id);
      if (missing.length > 0) {
        throw new ApiError(422, `Media ${missing.join(', ')} not found or already attached to another post`);
      }
      const chosen = new Set(named.map(({ media }) => media).filter((media) => isFree(account, media)));
      if (chosen.size > 1 && chosen.values().some(({ type }) => type === 'video' || type === 'audio')) {
        throw new ApiError(422, 'Cannot attach a video to a post that already contains images');
      }
      return [...chosen];
    },

    attach(media: readonly Media[], holder: 'scheduled' | 'published'): void {
      for (const { id } of media) holders.set(id, holder);
    },

    release(media: readonly Media[]): void {
      for (const { id } of media) holders.delete(id);
    },
  };
}

/** The provider answers this too if a status has both files and a poll. */
export function tooManyFiles(): ApiError {
  return new ApiError(422, `Cannot attach more than ${MEDIA_MAX} files`);
}

/** What was sent of a description and a focus (`0.5,-0.2`), in place of what was before. @throws ApiError 422 */
function detailsOf(parameters: Parameters, { description, ...before }: Details): Details {
  const text = 'description' in parameters ? scalar(parameters.description) : description;
  const isLong = [...String(text ?? '')].length > DESCRIPTION_MAX;
  checkRules([[isLong, `Description is too long (maximum is ${DESCRIPTION_MAX} characters)`]]);
  const point = scalar(parameters.focus);
  const [x = 0, y = 0] = String(point)
    .split(',')
    .map((part) => Number.parseFloat(part) || 0);
  const focus = isBlank(point) ? before.focus : { x, y };
  return { description: text == null ? null : String(text), ...(focus && { focus }) };
}

function typeOf(file: File): Media['type'] {
  if (file.type === 'image/gif') return 'gifv';
  const [group] = file.type.split('/');
  return group === 'image' || group === 'video' || group === 'audio' ? group : 'unknown';
}
