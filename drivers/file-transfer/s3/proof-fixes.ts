import type { FixFor } from "../proof-fixes.ts";
import type { S3Place } from "./config.ts";

/** What to do in the words of S3: actions, resources and settings. */
export function fixesFor({ bucket, prefix, endpoint }: S3Place): FixFor {
  const objects = `arn:aws:s3:::${bucket}/${prefix === "" ? "" : `${prefix}/`}*`;
  const whole = `arn:aws:s3:::${bucket}`;
  return (check, code) => {
    switch (check) {
      case "write":
        if (code === "DESTINATION_FORBIDDEN") {
          return `allow the seller's identity s3:PutObject and s3:GetObject on ${objects} and s3:ListBucket on ${whole}; if it is allowed, check settings.credentials and bucket_owner`;
        }
        if (code === "DESTINATION_MISSING")
          return `create the bucket ${bucket}, or correct settings.location and region`;
        if (code === "CONFIGURATION_INVALID" && endpoint !== undefined) {
          return "correct region, endpoint and path_style; for a store that knows no checksum headers set checksums: when_required";
        }
        return undefined;
      case "create_only":
        return "deliver to a store that honours If-None-Match: *; this one overwrites an object that it was told to create";
      case "checksum":
        return "this store keeps bytes that do not have the SHA-256 it was sent (x-amz-checksum-sha256); deliver to one that checks it";
      case "read_back":
        if (code === "READER_FORBIDDEN") {
          return `allow the reader's identity s3:GetObject (and s3:GetObjectVersion in a versioned bucket) on ${objects} and s3:ListBucket on ${whole}`;
        }
        return undefined;
      case "reader_cannot_write":
        return `take s3:PutObject on ${objects} from the reader's identity`;
      case "clean_up":
        return `allow the seller's identity s3:DeleteObject (s3:DeleteObjectVersion in a versioned bucket) on ${objects}, which a withdrawal needs too`;
      default:
        return undefined;
    }
  };
}
