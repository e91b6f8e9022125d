/* Operations that mypyc lacks: kwirec/native_ops.py says which expressions become calls of them. Every function does what
   its expression does in Python, for all arguments. Included before the C that mypyc makes. */

#ifndef KWIRE_NATIVE_OPS_H
#define KWIRE_NATIVE_OPS_H

#include <Python.h>

#include <CPy.h>
#include <byteswriter_extra_ops.h>

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

/* made(data[start:end]) for a class derived from bytes, such as Uuid */
static inline PyObject *KwireOps_MakeFromSlice(PyObject *made, PyObject *data, int64_t start, int64_t end) {
    Py_ssize_t length;
    const char *first = KwireOps_Cut(data, start, end, &length);
#if PY_VERSION_HEX < 0x030F0000
    PyTypeObject *type = (PyTypeObject *)made;
    if (likely(PyType_Check(made) && type->tp_new == PyBytes_Type.tp_new && type->tp_init == PyBytes_Type.tp_init)) {
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
    PyObject *value = PyObject_CallOneArg(made, cut);
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

/* kwire.native.made_by(cls, function), for one class of a module: calling the class calls the function. Without it, a tuple
   and a dict are made of the arguments of each call. */
typedef PyObject *(*KwireOps_Function)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
static KwireOps_Function KwireOps_maker;

static inline PyObject *KwireOps_Make(PyObject *cls, PyObject *const *args, size_t count, PyObject *names) {
    return KwireOps_maker(cls, args, (Py_ssize_t)PyVectorcall_NARGS(count), names);
}

static inline char KwireOps_MadeBy(PyObject *cls, PyObject *function) {
    if (PyType_Check(cls) && PyCFunction_Check(function)
        && PyCFunction_GET_FLAGS(function) == (METH_FASTCALL | METH_KEYWORDS)) {
        KwireOps_maker = (KwireOps_Function)(void (*)(void))PyCFunction_GET_FUNCTION(function);
        ((PyTypeObject *)cls)->tp_vectorcall = KwireOps_Make;
    }
    return CPY_NONE;
}

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
