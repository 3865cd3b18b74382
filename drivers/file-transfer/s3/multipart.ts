import { createHash } from "node:crypto";
import type { ByteSource } from "../../../core/bytes.ts";
import { DeliveryError } from "../../../core/errors.ts";
import { checkedBody } from "../checked-body.ts";
import type { S3Like } from "./client.ts";
import { guardedS3, statusOf } from "./provider.ts";

export interface MultipartTarget {
  readonly client: S3Like;
  readonly bucket: string;
  readonly key: string;
  readonly contentType: string;
  /** At least 5 MiB by the provider's rule; one part is held in memory. */
  readonly partBytes: number;
  /** Per-part SHA-256 sent along and checked by the store. */
  readonly checksums: boolean;
  readonly owner: { readonly ExpectedBucketOwner?: string };
}

/**
 * Uploads a body in parts and completes it create-only. When anything fails the upload is aborted and the first cause is what is
 * thrown; an abort that fails too leaves the upload for `collectLeftovers`, which finds it by listing.
 */
export async function putMultipart(
  target: MultipartTarget,
  body: ByteSource,
  signal: AbortSignal,
): Promise<"created" | "exists"> {
  const { client, bucket, key, owner } = target;
  const place = { Bucket: bucket, Key: key, ...owner };
  const { UploadId } = await guardedS3(signal, () =>
    client.createMultipartUpload(
      { ...place, ContentType: target.contentType, ...(target.checksums && { ChecksumAlgorithm: "SHA256" }) },
      { abortSignal: signal },
    ),
  );
  if (UploadId === undefined) throw new DeliveryError("DESTINATION_UNSAFE");
  try {
    const parts = await uploadParts(target, UploadId, body, signal);
    return await guardedS3(signal, async () => {
      try {
        await client.completeMultipartUpload(
          { ...place, UploadId, IfNoneMatch: "*", MultipartUpload: { Parts: parts } },
          { abortSignal: signal },
        );
        return "created";
      } catch (error) {
        if (statusOf(error) !== 412) throw error;
        await abortUpload(target, UploadId);
        return "exists";
      }
    });
  } catch (error) {
    await abortUpload(target, UploadId);
    throw error;
  }
}

type Parts = { PartNumber: number; ETag: string | undefined; ChecksumSHA256?: string }[];

async function uploadParts(
  target: MultipartTarget,
  uploadId: string,
  body: ByteSource,
  signal: AbortSignal,
): Promise<Parts> {
  const parts: Parts = [];
  for await (const bytes of blocks(checkedBody(body, signal), target.partBytes)) {
    const PartNumber = parts.length + 1;
    const checksum = target.checksums ? { ChecksumSHA256: createHash("sha256").update(bytes).digest("base64") } : {};
    const { ETag } = await guardedS3(signal, () =>
      target.client.uploadPart(
        {
          Bucket: target.bucket,
          Key: target.key,
          UploadId: uploadId,
          PartNumber,
          Body: bytes,
          ContentLength: bytes.length,
          ...checksum,
          ...target.owner,
        },
        { abortSignal: signal },
      ),
    );
    parts.push({ PartNumber, ETag, ...checksum });
  }
  return parts;
}

/** Its own signal: the abort must also run when the reason is that ours was aborted. A failed abort never hides the first cause. */
async function abortUpload(target: MultipartTarget, uploadId: string): Promise<void> {
  await target.client
    .abortMultipartUpload(
      { Bucket: target.bucket, Key: target.key, UploadId: uploadId, ...target.owner },
      { abortSignal: AbortSignal.timeout(10_000) },
    )
    .catch(() => undefined);
}

/** Re-cuts chunks into blocks of exactly `size` bytes; the last may be shorter. */
async function* blocks(chunks: AsyncIterable<Uint8Array>, size: number): AsyncIterable<Uint8Array> {
  let block = new Uint8Array(size);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let offset = 0; offset < chunk.length; ) {
      const taken = Math.min(size - filled, chunk.length - offset);
      block.set(chunk.subarray(offset, offset + taken), filled);
      filled += taken;
      offset += taken;
      if (filled < size) continue;
      yield block;
      block = new Uint8Array(size);
      filled = 0;
    }
  }
  if (filled > 0) yield block.subarray(0, filled);
}
