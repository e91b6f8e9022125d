from kwire_kafka import ApiKey, FetchResponse, AlterIsrRequest, AlterPartitionRequest
from kwire_kafka.models import FetchResponseModel

same: type[AlterPartitionRequest] = AlterIsrRequest  # a former name
code: int = FetchResponse().error_code
key: ApiKey = ApiKey.FETCH
model: FetchResponseModel
