import type { Random } from '../random.ts';
import type { Account } from './accounts.ts';
import { ApiError, recordNotFound, validationFailed } from './api-error.ts';
import type { Parameters } from './request-parameters.ts';
import { leadingInteger, type Scalar, scalar } from './scalars.ts';

/** How many media a status may have. */
export const MEDIA_MAX = 4;

/** An uploaded file. Its bytes are not kept. */
export interface Media {
  readonly id: number;
  readonly account: Account;
  readonly type: 'unknown' | 'image' | 'gifv' | 'video' | 'audio';
  /** Path of the file on the server that it was uploaded to. */
  readonly url: string;
  readonly description: string | null;
}

/** A file as the API shows it. */
export function mediaEntity(media: Media) {
  return {
    id: String(media.id),
    type: media.type,
    url: media.url,
    preview_url: media.url,
    remote_url: null,
    preview_remote_url: null,
    text_url: null,
    meta: {},
    description: media.description,
    blurhash: media.type === 'image' ? 'UBL_:rOpGG-oBUNG,qRj2so|=eE1w^n4S5NH' : null,
  };
}

/** The files that were uploaded, and which of them a scheduled or a published status holds. */
export class MediaAttachments {
  readonly #random: Random;
  readonly #uploaded = new Map<number, Media>();
  readonly #attached = new Set<number>();

  constructor(random: Random) {
    this.#random = random;
  }

  /**
   * Takes a file in.
   * @param parameters `file`, and where wanted `description`
   * @param baseUrl where the caller reached the mock
   * @throws ApiError 422 where no file was sent
   */
  upload(account: Account, { file, description }: Parameters, baseUrl: string): Media {
    if (!(file instanceof File)) throw validationFailed(["File can't be blank"]);
    const id = this.#uploaded.size + 1;
    const extension = /\.\w+$/.exec(file.name)?.[0] ?? '';
    const url = `${baseUrl}/system/media_attachments/files/${id}/original/${this.#random.id(16)}${extension}`;
    const text = scalar(description);
    const media = {
      id,
      account,
      type: typeOf(file),
      url,
      description: text === undefined ? null : String(text),
    };
    this.#uploaded.set(id, media);
    return media;
  }

  /** @throws ApiError 404 where the caller has no such file */
  find(account: Account, id: string): Media {
    const media = this.#uploaded.get(/^\d+$/.test(id) ? Number(id) : Number.NaN);
    if (media?.account !== account) throw recordNotFound();
    return media;
  }

  /**
   * The files that a new status is to have.
   * @throws ApiError 422 if there are too many, or one is unknown, of another user, or part of another status
   */
  choose(account: Account, ids: readonly Scalar[]): Media[] {
    if (ids.length > MEDIA_MAX) throw tooManyFiles();
    const free = (id: Scalar) => {
      const media = this.#uploaded.get(leadingInteger(id));
      return media?.account === account && !this.#attached.has(media.id) ? media : undefined;
    };
    const missing = ids.filter((id) => free(id) === undefined);
    if (missing.length > 0) {
      throw new ApiError(422, `Media ${missing.join(', ')} not found or already attached to another post`);
    }
    const media = [...new Set(ids.map(free).filter((one) => one !== undefined))];
    if (media.length > 1 && media.some(({ type }) => type === 'video' || type === 'audio')) {
      throw new ApiError(422, 'Cannot attach a video to a post that already contains images');
    }
    return media;
  }

  attach(media: readonly Media[]): void {
    for (const { id } of media) this.#attached.add(id);
  }

  release(media: readonly Media[]): void {
    for (const { id } of media) this.#attached.delete(id);
  }

  clear(): void {
    this.#uploaded.clear();
    this.#attached.clear();
  }
}

/** The provider answers this too if a status has both files and a poll. */
export function tooManyFiles(): ApiError {
  return new ApiError(422, `Cannot attach more than ${MEDIA_MAX} files`);
}

function typeOf(file: File): Media['type'] {
  if (file.type === 'image/gif') return 'gifv';
  const [group] = file.type.split('/');
  return group === 'image' || group === 'video' || group === 'audio' ? group : 'unknown';
}
