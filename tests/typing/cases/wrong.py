import kwire_kafka
from kwire_kafka import ProducRequest  # error
from kwire_kafka.models import FetchResponsModel  # error

kwire_kafka.MetadataReqest  # error
kwire_kafka.MetadataRequest(topic=None)  # error
