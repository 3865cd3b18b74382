import type {
  AbortMultipartUploadCommandInput,
  AbortMultipartUploadCommandOutput,
  CompleteMultipartUploadCommandInput,
  CompleteMultipartUploadCommandOutput,
  CreateMultipartUploadCommandInput,
  CreateMultipartUploadCommandOutput,
  DeleteObjectCommandInput,
  DeleteObjectCommandOutput,
  GetObjectCommandInput,
  GetObjectCommandOutput,
  HeadBucketCommandInput,
  HeadBucketCommandOutput,
  HeadObjectCommandInput,
  HeadObjectCommandOutput,
  ListMultipartUploadsCommandInput,
  ListMultipartUploadsCommandOutput,
  ListObjectsV2CommandInput,
  ListObjectsV2CommandOutput,
  PutObjectCommandInput,
  PutObjectCommandOutput,
  UploadPartCommandInput,
  UploadPartCommandOutput,
} from "@aws-sdk/client-s3";

interface Call {
  readonly abortSignal: AbortSignal;
}

/** The members of the aggregated `S3` client that the store calls. */
export interface S3Like {
  putObject(input: PutObjectCommandInput, call: Call): Promise<PutObjectCommandOutput>;
  getObject(input: GetObjectCommandInput, call: Call): Promise<GetObjectCommandOutput>;
  headBucket(input: HeadBucketCommandInput, call: Call): Promise<HeadBucketCommandOutput>;
  headObject(input: HeadObjectCommandInput, call: Call): Promise<HeadObjectCommandOutput>;
  deleteObject(input: DeleteObjectCommandInput, call: Call): Promise<DeleteObjectCommandOutput>;
  listObjectsV2(input: ListObjectsV2CommandInput, call: Call): Promise<ListObjectsV2CommandOutput>;
  createMultipartUpload(
    input: CreateMultipartUploadCommandInput,
    call: Call,
  ): Promise<CreateMultipartUploadCommandOutput>;
  uploadPart(input: UploadPartCommandInput, call: Call): Promise<UploadPartCommandOutput>;
  completeMultipartUpload(
    input: CompleteMultipartUploadCommandInput,
    call: Call,
  ): Promise<CompleteMultipartUploadCommandOutput>;
  abortMultipartUpload(input: AbortMultipartUploadCommandInput, call: Call): Promise<AbortMultipartUploadCommandOutput>;
  listMultipartUploads(input: ListMultipartUploadsCommandInput, call: Call): Promise<ListMultipartUploadsCommandOutput>;
  destroy(): void;
}
