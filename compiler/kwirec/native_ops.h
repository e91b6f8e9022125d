/* Operations that mypyc lacks: kwirec/native_ops.py says which expressions become calls of them. Every function does what
   its expression does in Python, for all arguments. Included before the C that mypyc makes. */

#ifndef KWIRE_NATIVE_OPS_H
#define KWIRE_NATIVE_OPS_H

#include <Python.h>

#include <CPy.h>
#include <byteswriter_extra_ops.h>

/* Arguments of a function with keyword-only parameters, called without keywords: mypyc's short way for all others, unless
   keywords are required. */
#define CPyArg_ParseStackAndKeywords(args, nargs, names, parser, ...) \
    ((names) == NULL && !(parser)->has_required_kws && !(parser)->varargs \
         ? CPyArg_ParseStackAndKeywordsSimple(args, nargs, names, parser, __VA_ARGS__) \
         : CPyArg_ParseStackAndKeywords(args, nargs, names, parser, __VA_ARGS__))

/* The first byte and the number of bytes of data[start:end]. */
static inline const char *KwireOps_Cut(PyObject *data, int64_t start, int64_t end, Py_ssize_t *length) {
    int64_t size = (int64_t)PyBytes_GET_SIZE(data);
    if (start < 0) start = start < -size ? 0 : start + size;
    if (end < 0) end = end < -size ? 0 : end + size;
    if (end > size) end = size;
    *length = start < end ? (Py_ssize_t)(end - start) : 0;
    return PyBytes_AS_STRING(data) + (*length ? start : 0);
}

/* data[start:end]; mypyc's own (2.4) fails if the end comes before the start. */
static inline PyObject *KwireOps_Slice(PyObject *data, CPyTagged start, CPyTagged end) {
    if (likely(PyBytes_Check(data) && CPyTagged_CheckShort(start) && CPyTagged_CheckShort(end))) {
        Py_ssize_t length;
        const char *first =
            KwireOps_Cut(data, CPyTagged_ShortAsSsize_t(start), CPyTagged_ShortAsSsize_t(end), &length);
        return PyBytes_FromStringAndSize(first, length);
    }
    return CPyObject_GetSlice(data, start, end);
}

/* data[start:end].decode() */
static inline PyObject *KwireOps_DecodeSlice(PyObject *data, int64_t start, int64_t end) {
    Py_ssize_t length;
    const char *first = KwireOps_Cut(data, start, end, &length);
    return PyUnicode_DecodeUTF8(first, length, "strict");
}

/* Uuid(data[start:end]) */
static inline PyObject *KwireOps_MakeUuid(PyObject *data, int64_t start, int64_t end) {
    static PyObject *uuid = NULL;
    if (unlikely(uuid == NULL)) {
        PyObject *module = PyImport_ImportModule("kwire.uuids");
        if (module == NULL) return NULL;
        uuid = PyObject_GetAttrString(module, "Uuid");
        Py_DECREF(module);
        if (uuid == NULL) return NULL;
    }
    Py_ssize_t length;
    const char *first = KwireOps_Cut(data, start, end, &length);
#if PY_VERSION_HEX < 0x030F0000
    PyTypeObject *type = (PyTypeObject *)uuid;
    if (likely(type->tp_new == PyBytes_Type.tp_new && type->tp_init == PyBytes_Type.tp_init)) {
        PyObject *value = type->tp_alloc(type, length);
        if (unlikely(value == NULL)) return NULL;
        memcpy(PyBytes_AS_STRING(value), first, (size_t)length);
        _Py_COMP_DIAG_PUSH
        _Py_COMP_DIAG_IGNORE_DEPR_DECLS
        ((PyBytesObject *)value)->ob_shash = -1; /* not computed */
        _Py_COMP_DIAG_POP
        return value;
    }
#endif
    PyObject *cut = PyBytes_FromStringAndSize(first, length);
    if (unlikely(cut == NULL)) return NULL;
    PyObject *value = PyObject_CallOneArg(uuid, cut);
    Py_DECREF(cut);
    return value;
}

/* [], with room for count elements. Whoever counted them may lie, so for no more than a page or two. */
static inline PyObject *KwireOps_EmptyList(int64_t count) {
#ifdef Py_GIL_DISABLED
    return PyList_New(0);
#else
    PyObject *list = PyList_New(count < 0 ? 0 : count > 1024 ? 1024 : (Py_ssize_t)count);
    if (likely(list != NULL)) Py_SET_SIZE(list, 0);
    return list;
#endif
}

/* list.append(item) */
static inline int KwireOps_Append(PyObject *list, PyObject *item) {
#ifndef Py_GIL_DISABLED
    Py_ssize_t size = PyList_GET_SIZE(list);
    if (likely(size < ((PyListObject *)list)->allocated)) {
        Py_INCREF(item);
        PyList_SET_ITEM(list, size, item);
        Py_SET_SIZE(list, size + 1);
        return 0;
    }
#endif
    return PyList_Append(list, item);
}

/* A big-endian number of 2, 4 or 8 bytes. */
static inline int64_t KwireOps_Number(const unsigned char *at, int width) {
    if (width == 2) return (int16_t)((uint16_t)at[0] << 8 | at[1]);
    uint32_t high = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    if (width == 4) return (int32_t)high;
    uint32_t low = (uint32_t)at[4] << 24 | (uint32_t)at[5] << 16 | (uint32_t)at[6] << 8 | at[7];
    return (int64_t)((uint64_t)high << 32 | low);
}

/* Big-endian numbers of 2, 4 or 8 bytes as a list that has no room to grow; IndexError beyond the end. */
static inline PyObject *KwireOps_ReadNumbers(PyObject *data, int64_t pos, int64_t count, int width) {
    int64_t size = (int64_t)PyBytes_GET_SIZE(data);
    if (unlikely(pos < 0 || count < 0 || pos > size || count > (size - pos) / width)) {
        PyErr_SetString(PyExc_IndexError, "index out of range");
        return NULL;
    }
    PyObject *list = PyList_New((Py_ssize_t)count);
    if (unlikely(list == NULL)) return NULL;
    const unsigned char *at = (const unsigned char *)PyBytes_AS_STRING(data) + pos;
    for (Py_ssize_t index = 0; index < (Py_ssize_t)count; index++, at += width) {
        PyObject *item = PyLong_FromLongLong(KwireOps_Number(at, width));
        if (unlikely(item == NULL)) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, index, item);
    }
    return list;
}

static inline PyObject *KwireOps_ReadI16s(PyObject *data, int64_t pos, int64_t count) {
    return KwireOps_ReadNumbers(data, pos, count, 2);
}

static inline PyObject *KwireOps_ReadI32s(PyObject *data, int64_t pos, int64_t count) {
    return KwireOps_ReadNumbers(data, pos, count, 4);
}

static inline PyObject *KwireOps_ReadI64s(PyObject *data, int64_t pos, int64_t count) {
    return KwireOps_ReadNumbers(data, pos, count, 8);
}

/* kwire.records.writing.write_coded(out, coded): there is room for all bytes of the number before the first is written. */
static inline char KwireOps_WriteCoded(PyObject *out, int64_t coded) {
    BytesWriterObject *writer = (BytesWriterObject *)out;
    if (unlikely(!CPyBytesWriter_EnsureSize(writer, 10))) return CPY_NONE_ERROR;
    unsigned char *start = (unsigned char *)writer->buf + writer->len, *at = start;
    for (; coded > 127; coded >>= 7) *at++ = (unsigned char)(coded | 128);
    *at++ = (unsigned char)coded;
    writer->len += at - start;
    return CPY_NONE;
}

/* out.write(data[start:end]) */
static inline char KwireOps_WriteSlice(PyObject *out, PyObject *data, int64_t start, int64_t end) {
    BytesWriterObject *writer = (BytesWriterObject *)out;
    Py_ssize_t length;
    const char *first = KwireOps_Cut(data, start, end, &length);
    if (unlikely(!CPyBytesWriter_EnsureSize(writer, length))) return CPY_NONE_ERROR;
    char *to = writer->buf + writer->len;
    if (length >= 8 && length <= 16) { /* small and usual: two copies that overlap, instead of a call */
        memcpy(to, first, 8);
        memcpy(to + length - 8, first + length - 8, 8);
    } else {
        memcpy(to, first, (size_t)length);
    }
    writer->len += length;
    return CPY_NONE;
}

/* outs[column] of writers, borrowed; mypyc calls a function for their type, each time. */
static inline PyObject *KwireOps_Borrowed(PyObject *outs, int64_t column) {
    static PyTypeObject *type = NULL;
    if (unlikely(type == NULL)) type = LibRTStrings_BytesWriter_type_internal();
    Py_ssize_t count = PyList_GET_SIZE(outs);
    if (column < 0) column += count;
    if (unlikely(column < 0 || column >= count)) {
        PyErr_SetString(PyExc_IndexError, "list index out of range");
        return NULL;
    }
    PyObject *writer = PyList_GET_ITEM(outs, (Py_ssize_t)column);
    if (unlikely(Py_TYPE(writer) != type)) {
        PyErr_SetString(PyExc_TypeError, "the list has other objects than writers");
        return NULL;
    }
    return writer;
}

/* kwire.columns.messages.writer(outs, column) */
static inline PyObject *KwireOps_Writer(PyObject *outs, int64_t column) {
    PyObject *writer = KwireOps_Borrowed(outs, column);
    Py_XINCREF(writer);
    return writer;
}

/* kwire.columns.messages.copy(outs, column, data, start, end) */
static inline int64_t KwireOps_Copy(PyObject *outs, int64_t column, PyObject *data, int64_t start, int64_t end) {
    PyObject *writer = KwireOps_Borrowed(outs, column);
    if (unlikely(writer == NULL || KwireOps_WriteSlice(writer, data, start, end) == CPY_NONE_ERROR)) return CPY_LL_INT_ERROR;
    return (int64_t)((BytesWriterObject *)writer)->len;
}

/* kwire.columns.messages.array(outs, column, data, pos, shift) */
static inline int64_t KwireOps_Array(PyObject *outs, int64_t column, PyObject *data, int64_t pos, int64_t shift) {
    int64_t size = (int64_t)PyBytes_GET_SIZE(data);
    if (unlikely(pos < 0 || pos >= size || shift < 0 || shift > 7)) return -1;
    int64_t length = (unsigned char)PyBytes_AS_STRING(data)[pos], stop = pos + 1 + (int64_t)((uint64_t)(length - 1) << shift);
    if (unlikely(length == 0 || length > 127 || stop > size)) return -1;
    int64_t bytes = KwireOps_Copy(outs, column + 2, data, pos + 1, stop);
    PyObject *ends = KwireOps_Borrowed(outs, column);
    if (unlikely(bytes == CPY_LL_INT_ERROR || ends == NULL)) return CPY_LL_INT_ERROR;
    if (unlikely(CPyBytesWriter_WriteI32LE(ends, (int32_t)(bytes >> shift)) == CPY_NONE_ERROR)) return CPY_LL_INT_ERROR;
    return stop;
}

/* kwire.columns.messages.passed(data, pos, count, shape). A struct is as long as the one before it if their lengths of
   arrays and numbers of tagged fields are the same: bytes that are compared at once, not each after the last. */
static inline int64_t KwireOps_Passed(PyObject *data, int64_t pos, int64_t count, int64_t shape) {
    const unsigned char *bytes = (const unsigned char *)PyBytes_AS_STRING(data);
    int64_t size = (int64_t)PyBytes_GET_SIZE(data), arrays = (shape >> 60) - 1, length = 0, places[4];
    if (arrays < 0 || arrays > 3 || pos < 0) return -1;
    for (; count > 0; count--) {
        int different = length == 0 || length > size - pos;
        for (int64_t index = 0; !different && index <= arrays; index++)
            different = bytes[pos + places[index]] != bytes[pos + places[index] - length];
        if (likely(!different)) {
            pos += length;
            continue;
        }
        int64_t start = pos, rest = shape;
        pos += rest & 255;
        for (int64_t index = 0; index < arrays; index++, rest >>= 16) {
            if (unlikely(pos >= size || bytes[pos] == 0 || bytes[pos] > 127)) return -1;
            places[index] = pos - start;
            pos += 1 + (int64_t)(bytes[pos] - 1) * (rest >> 8 & 255) + (rest >> 16 & 255);
        }
        if (unlikely(pos >= size || bytes[pos] != 0)) return -1;
        places[arrays] = pos++ - start;
        length = pos - start;
    }
    return pos;
}

/* Big-endian numbers as little-endian ones. Each is read before it is written, so that it is one instruction for both. */
static inline void KwireOps_Turn(unsigned char *to, const unsigned char *from, Py_ssize_t count, Py_ssize_t stride, int size) {
    for (; count > 0; count--, to += size, from += stride) {
        uint64_t number = (uint64_t)(size == 1 ? *from : KwireOps_Number(from, size));
        for (int index = 0; index < size; index++) to[index] = (unsigned char)(number >> 8 * index);
    }
}

/* kwire.columns.rows.turned(rows, offset, stride, size) */
static inline PyObject *KwireOps_Turned(PyObject *rows, int64_t offset, int64_t stride, int64_t size) {
    BytesWriterObject *writer = (BytesWriterObject *)rows;
    Py_ssize_t length = writer->len;
    int known = size == 1 || size == 2 || size == 4 || size == 8;
    if (unlikely(!known || offset < 0 || offset > stride - size || length % stride)) {
        PyErr_SetString(PyExc_ValueError, "the numbers extend beyond the rows");
        return NULL;
    }
    Py_ssize_t count = length / (Py_ssize_t)stride, step = (Py_ssize_t)stride;
    PyObject *numbers = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)size);
    if (unlikely(numbers == NULL)) return NULL;
    const unsigned char *from = (const unsigned char *)writer->buf + offset;
    unsigned char *to = (unsigned char *)PyBytes_AS_STRING(numbers);
    if (size == 8) KwireOps_Turn(to, from, count, step, 8);
    else if (size == 4) KwireOps_Turn(to, from, count, step, 4);
    else if (size == 2) KwireOps_Turn(to, from, count, step, 2);
    else KwireOps_Turn(to, from, count, step, 1);
    return numbers;
}

/* kwire.records.writing.view(out): memoryview(out.getvalue()) without the copy */
static inline PyObject *KwireOps_View(PyObject *out) {
    BytesWriterObject *writer = (BytesWriterObject *)out;
    return PyMemoryView_FromMemory(writer->buf, writer->len, PyBUF_READ);
}

/* Arguments by name, if the names are the very strings that the parameters have, as in calls that Python compiled. mypyc
   compares all names with those of parameters that are not given. */
static inline int KwireOps_TakeNamed(PyObject *const *args, Py_ssize_t count, PyObject *names, CPyArg_Parser *parser, ...) {
    if (parser->kwtuple == NULL || parser->pos != 0 || count > parser->max) return 0;
    Py_ssize_t named = PyTuple_GET_SIZE(names), left = named, known = PyTuple_GET_SIZE(parser->kwtuple);
    va_list places;
    va_start(places, parser);
    for (Py_ssize_t index = 0; index < known; index++) {
        PyObject **place = va_arg(places, PyObject **), *name = PyTuple_GET_ITEM(parser->kwtuple, index);
        if (index < count) {
            *place = args[index];
            continue;
        }
        Py_ssize_t at = 0;
        while (at < named && PyTuple_GET_ITEM(names, at) != name) at++;
        if (at < named) {
            *place = args[count + at];
            left--;
        } else if (index < parser->min) {
            left = -1; /* missing */
            break;
        }
    }
    va_end(places);
    return left == 0;
}

#ifndef Py_GIL_DISABLED
#define CPyArg_ParseStackAndKeywordsSimple(args, count, names, parser, ...) \
    (((names) != NULL && KwireOps_TakeNamed(args, (Py_ssize_t)(count), names, parser, __VA_ARGS__)) \
     || CPyArg_ParseStackAndKeywordsSimple(args, count, names, parser, __VA_ARGS__))
#endif

/* Objects of emitted classes take the memory of freed ones, of which a library keeps a few of each size: Python's own
   allocator, which is general, takes longer than storing the attributes. */
#if defined(Py_GIL_DISABLED) || defined(Py_DEBUG) || defined(__SANITIZE_ADDRESS__)
static inline int KwireOps_ReuseMemory(PyObject *cls) {
    (void)cls;
    return 0;
}
#else
enum { KWIRE_LARGEST = 256, KWIRE_KEPT = 64 };

/* A freed object has its type, and nothing in its attributes but small numbers. mypyc's table of methods, which comes
   first and is set with each use, is the next freed object. */
typedef struct KwireOps_Object {
    PyObject_HEAD
    struct KwireOps_Object *next;
} KwireOps_Object;

typedef struct {
    KwireOps_Object *first;
    Py_ssize_t count;
} KwireOps_Freed;

static inline KwireOps_Freed *KwireOps_FreedLike(PyTypeObject *type) {
    static KwireOps_Freed sizes[KWIRE_LARGEST / sizeof(void *) + 1];
    return &sizes[(size_t)type->tp_basicsize / sizeof(void *)];
}

static inline PyObject *KwireOps_Alloc(PyTypeObject *type, Py_ssize_t items) {
    KwireOps_Freed *freed = KwireOps_FreedLike(type);
    KwireOps_Object *object = freed->first;
    if (unlikely(object == NULL)) return PyType_GenericAlloc(type, items);
    freed->first = object->next;
    freed->count--;
    if (unlikely(Py_TYPE(object) != type)) {
        memset(object + 1, 0, (size_t)type->tp_basicsize - sizeof(KwireOps_Object));
        Py_SET_TYPE(object, type);
    }
    Py_SET_REFCNT(object, 1);
    return (PyObject *)object;
}

static inline void KwireOps_Free(void *memory) {
    KwireOps_Object *object = memory;
    KwireOps_Freed *freed = KwireOps_FreedLike(Py_TYPE(object));
    if (unlikely(freed->count == KWIRE_KEPT)) {
        PyObject_Free(object);
        return;
    }
    object->next = freed->first;
    freed->first = object;
    freed->count++;
}

/* For a class whose objects Python's collector does not know. */
static inline int KwireOps_ReuseMemory(PyObject *cls) {
    PyTypeObject *type = (PyTypeObject *)cls;
    if (!PyType_IS_GC(type) && type->tp_itemsize == 0 && type->tp_basicsize <= KWIRE_LARGEST) {
        type->tp_alloc = KwireOps_Alloc;
        type->tp_free = KwireOps_Free;
    }
    return 0;
}
#endif

/* How an object is freed. Python limits the depth to which objects free each other by keeping those that are too deep in a
   list, in fields that only objects of its collector have. mypyc does so for all its classes, and would write into
   whatever lies before an object of a class that the collector does not know (acyclic=True). Those free only what they
   hold, to no great depth. The jump skips `Py_TRASHCAN_BEGIN`, whose variables are then used by nothing. */
#undef CPy_TRASHCAN_BEGIN
#undef CPy_TRASHCAN_END
#define CPy_TRASHCAN_BEGIN(op, dealloc) \
    int kwire_flat = !PyType_IS_GC(Py_TYPE(op)); \
    if (kwire_flat) goto kwire_body; \
    Py_TRASHCAN_BEGIN(op, dealloc) \
    kwire_body: ;
#define CPy_TRASHCAN_END(op) \
    if (kwire_flat) goto done; \
    Py_TRASHCAN_END

#endif
