import { Readable } from "node:stream";
import type { ByteSource } from "../../../core/bytes.ts";
import { DeliveryError } from "../../../core/errors.ts";
import { checkedBody } from "../checked-body.ts";
import { isSafeKey } from "../layout.ts";
import type { CallOptions, ListedObject, ObjectFacts, ObjectStore, PutOptions } from "../object-store.ts";
import type { S3Like } from "./client.ts";
import { putMultipart } from "./multipart.ts";
import { guardedS3, statusOf } from "./provider.ts";

const mebibyte = 1024 * 1024;

export interface S3StoreOptions {
  readonly client: S3Like;
  readonly bucket: string;
  /** Key prefix without slashes at either end; "" for the whole bucket. */
  readonly prefix: string;
  /** Sent as ExpectedBucketOwner on every call, so that a bucket of the same name owned by another account is refused. */
  readonly bucketOwner?: string;
  /** `full`: our SHA-256 is sent and checked by the store. `when_required`: for compatible stores that refuse checksum headers. */
  readonly checksums: "full" | "when_required";
  /** Objects above this go up in parts. Bytes. Default: 5 GiB, the single-put limit; one put is faster and needs less memory. */
  readonly multipartAboveBytes?: number;
  /** Default 64 MiB: 10,000 parts hold 640 GB. */
  readonly partBytes?: number;
}

/**
 * Objects in an S3 bucket. Create-only by `If-None-Match: *` on every write path. 412 is reported as `exists` (it may be our own first
 * write whose reply was lost; the caller compares content), 409 and a lost connection are DESTINATION_UNREACHABLE: a retry finds out.
 */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  const { client, bucket } = options;
  const owner = options.bucketOwner === undefined ? {} : { ExpectedBucketOwner: options.bucketOwner };
  const base = options.prefix === "" ? "" : `${options.prefix}/`;
  const full = options.checksums === "full";
  let bucketSeen = false;
  const multipartAbove = options.multipartAboveBytes ?? 5 * 1024 * mebibyte;

  return {
    location: `s3://${bucket}${options.prefix === "" ? "" : `/${options.prefix}`}`,

    sendsChecksum: full,

    async putIfAbsent(key, body, put) {
      const Key = keyOf(key);
      // Saves the upload where somebody was first; whether the write is exclusive is the conditional put's business.
      if (put.lookFirst !== false && (await head(Key, put)) !== undefined) return { outcome: "exists" };
      if (body.sizeBytes <= multipartAbove) return { outcome: await putOnce(Key, body, put) };
      const target = {
        client,
        bucket,
        key: Key,
        contentType: put.contentType,
        partBytes: options.partBytes ?? 64 * mebibyte,
        checksums: full,
        owner,
      };
      return { outcome: await putMultipart(target, body, put.signal) };
    },

    open: (key, call) =>
      guardedS3(call.signal, async () => {
        try {
          const version = call.nativeVersion === undefined ? {} : { VersionId: call.nativeVersion };
          const { Body } = await client.getObject(
            { Bucket: bucket, Key: keyOf(key), ...version, ...owner },
            { abortSignal: call.signal },
          );
          return Body === undefined ? undefined : chunks(Body as Readable, call.signal);
        } catch (error) {
          if (isMissing(error)) return undefined;
          throw error;
        }
      }),

    stat: async (key, call) => await head(keyOf(key), call),

    async remove(key, call) {
      // In a versioned bucket a plain delete only hides the bytes; each version goes by name until nothing answers.
      for (let facts = await head(keyOf(key), call); facts !== undefined; facts = await head(keyOf(key), call)) {
        const version = facts.nativeVersion === undefined ? {} : { VersionId: facts.nativeVersion };
        await guardedS3(call.signal, () =>
          client.deleteObject({ Bucket: bucket, Key: keyOf(key), ...version, ...owner }, { abortSignal: call.signal }),
        );
      }
    },

    async *list(folder, call): AsyncIterable<ListedObject> {
      const Prefix = prefixOf(folder);
      for (let token: string | undefined, more = true; more; more = token !== undefined) {
        const page = await guardedS3(call.signal, () =>
          client.listObjectsV2(
            { Bucket: bucket, Prefix, ...(token !== undefined && { ContinuationToken: token }), ...owner },
            { abortSignal: call.signal },
          ),
        );
        for (const { Key, Size } of page.Contents ?? []) {
          if (Key?.startsWith(base)) yield { key: Key.slice(base.length), sizeBytes: Size ?? 0 };
        }
        token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      }
    },

    async collectLeftovers(folder, call) {
      const Prefix = prefixOf(folder);
      let collected = 0;
      for (let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}; marker !== undefined; ) {
        const from: { KeyMarker?: string; UploadIdMarker?: string } = marker;
        const page = await guardedS3(call.signal, () =>
          client.listMultipartUploads({ Bucket: bucket, Prefix, ...from, ...owner }, { abortSignal: call.signal }),
        );
        for (const upload of page.Uploads ?? []) {
          const startedUs = BigInt(upload.Initiated?.getTime() ?? 0) * 1000n;
          if (call.startedBeforeUs !== undefined && startedUs >= call.startedBeforeUs) continue;
          const { Key, UploadId } = upload;
          if (Key === undefined || UploadId === undefined) continue;
          await guardedS3(call.signal, () =>
            client.abortMultipartUpload({ Bucket: bucket, Key, UploadId, ...owner }, { abortSignal: call.signal }),
          );
          collected++;
        }
        marker =
          page.IsTruncated === true && page.NextKeyMarker !== undefined
            ? {
                KeyMarker: page.NextKeyMarker,
                ...(page.NextUploadIdMarker !== undefined && { UploadIdMarker: page.NextUploadIdMarker }),
              }
            : undefined;
      }
      return collected;
    },

    close: async () => client.destroy(),
  };

  function keyOf(key: string): string {
    if (!isSafeKey(key) || !key.includes("/")) throw new DeliveryError("DESTINATION_UNSAFE");
    return `${base}${key}`;
  }

  function prefixOf(folder: string): string {
    if (folder !== "" && !isSafeKey(folder)) throw new DeliveryError("DESTINATION_UNSAFE");
    return folder === "" ? base : `${base}${folder}/`;
  }

  async function putOnce(Key: string, body: ByteSource, put: PutOptions): Promise<"created" | "exists"> {
    const stream = Readable.from(checkedBody(body, put.signal), { objectMode: false, highWaterMark: mebibyte });
    const checksum = full
      ? { ChecksumSHA256: Buffer.from(put.declaredSha256 ?? body.sha256, "hex").toString("base64") }
      : {};
    // A body that fails does not end the SDK's request by itself; what really happened is the stream's error, not the abort's.
    let bodyError: unknown;
    const failed = new AbortController();
    stream.once("error", (error) => {
      bodyError = error;
      failed.abort();
    });
    return await guardedS3(put.signal, async () => {
      try {
        await client.putObject(
          {
            Bucket: bucket,
            Key,
            Body: stream,
            ContentLength: body.sizeBytes,
            ContentType: put.contentType,
            IfNoneMatch: "*",
            ...checksum,
            ...owner,
          },
          { abortSignal: AbortSignal.any([put.signal, failed.signal]) },
        );
        return "created";
      } catch (error) {
        if (bodyError !== undefined) throw bodyError;
        if (statusOf(error) === 412) return "exists";
        throw error;
      } finally {
        stream.destroy();
      }
    });
  }

  async function head(Key: string, call: CallOptions): Promise<ObjectFacts | undefined> {
    return await guardedS3(call.signal, async () => {
      try {
        const answer = await client.headObject(
          { Bucket: bucket, Key, ...(full && { ChecksumMode: "ENABLED" }), ...owner },
          { abortSignal: call.signal },
        );
        const version =
          answer.VersionId === undefined || answer.VersionId === "null" ? {} : { nativeVersion: answer.VersionId };
        const sha256 = wholeObjectSha256(answer.ChecksumSHA256);
        return { sizeBytes: answer.ContentLength ?? 0, ...version, ...(sha256 !== undefined && { sha256 }) };
      } catch (error) {
        if (!isMissing(error)) throw error;
        await proveBucket(call);
        return undefined;
      }
    });
  }

  /** HEAD has no body, so its 404 may also mean a missing bucket. Asked once: a bucket that was there does not vanish in silence. */
  async function proveBucket(call: CallOptions): Promise<void> {
    if (bucketSeen) return;
    try {
      await client.headBucket({ Bucket: bucket, ...owner }, { abortSignal: call.signal });
    } catch (error) {
      throw isMissing(error) ? new DeliveryError("DESTINATION_MISSING", { cause: error }) : error;
    }
    bucketSeen = true;
  }
}

/** A multipart checksum is a hash of hashes, marked `-N`; it says nothing about the bytes. */
function wholeObjectSha256(checksum: string | undefined): string | undefined {
  return checksum === undefined || checksum.includes("-") ? undefined : Buffer.from(checksum, "base64").toString("hex");
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.name === "NoSuchKey" || error.name === "NotFound" || error.name === "NoSuchVersion")
  );
}

async function* chunks(body: Readable, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const reader = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await guardedS3(signal, () => reader.next());
      if (next.done === true) return;
      yield next.value as Uint8Array;
    }
  } finally {
    body.destroy();
  }
}
